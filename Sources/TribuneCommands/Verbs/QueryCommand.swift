// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON

/// `query NAME [JSON]`.
struct QueryCommand: Command {
  private let query: Query
  private let collects: Bool

  init(_ invocation: Invocation) throws(CommandError) {
    let name = try invocation.name(at: 0)
    query = Query(
      name: name, scope: try invocation.scope(of: name), object: try invocation.object(),
      userInfo: try invocation.userInfo(at: 1), deadline: try invocation.wireTimeout(), mode: .parallel)
    collects = invocation.has(.collect)
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let reply: QueryReply
    do throws(TribuneError) {
      let connection = try await context.connect()
      reply = try await ask(over: connection, in: context)
    } catch {
      throw CommandError(error, status: ExitStatus.noVerdict)
    }
    if context.json != .off {
      try context.print(reply.json)
    } else {
      for value in collects ? reply.values : Array(reply.values.prefix(1)) { try context.print(value.line) }
    }
    guard reply.value == nil else { return ExitStatus.success }
    if !context.isQuiet { report(reply, in: context) }
    return ExitStatus.failure
  }

  private func ask(over connection: Connection, in context: Context) async throws(TribuneError) -> QueryReply
  {
    let parent = parentQuery(reportingTo: context.terminal)
    return try await query.whileWaited(over: connection, in: context) {
      [query, collects] progress throws(TribuneError) -> QueryReply in
      let reply =
        if collects {
          try await connection.collect(
            query.askedName, object: query.object, userInfo: query.userInfo, deadline: query.deadline,
            parent: parent, progress: progress)
        } else {
          try await connection.query(
            query.askedName, object: query.object, userInfo: query.userInfo, deadline: query.deadline,
            parent: parent, progress: progress)
        }
      if query.scope != nil, reply.outcomes.isEmpty { throw query.noGateway }
      return reply
    }
  }

  private func report(_ reply: QueryReply, in context: Context) {
    context.terminal.report(
      "\(subjectText(query.name, query.object)) has no value"
        + (reply.outcomes.isEmpty ? ": no delegate answered" : ""))
    for outcome in reply.outcomes { context.terminal.reportLine("  " + outcome.report()) }
    if reply.omittedCount > 0 { context.terminal.reportLine("  and \(reply.omittedCount) more") }
  }
}

extension QueryReply {
  var json: JSONValue {
    .object([
      ("query", .unsigned(query)), (value ?? .none).jsonMember(named: "value"),
      ("outcomes", .array(outcomes.map(\.json))), ("outcomesOmitted", .unsigned(UInt64(omittedCount))),
    ])
  }
}

// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

struct QueryCommand: Command {
  private let query: Query
  private let collects: Bool

  init(_ invocation: Invocation) throws(CommandError) {
    let name = try invocation.name(at: 0)
    guard !NameSyntax.hasVerb(behind: "should", in: name.utf8Bytes) else {
      throw .usage("\"\(name)\" asks for permission, not for a value: did you mean ask \(name)?")
    }
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
    if context.writesValues {
      try context.print(reply.json)
    } else {
      for value in collects ? reply.values : Array(reply.values.prefix(1)) { try context.print(value.line) }
    }
    query.hint(at: reply.similarName, in: context)
    if !context.isQuiet {
      let lines = reply.lack(of: subjectText(query.name, query.object), collects: collects)
      if let first = lines.first { context.terminal.report(first) }
      for line in lines.dropFirst() { context.terminal.reportLine(line) }
    }
    return reply.value == nil ? ExitStatus.failure : ExitStatus.success
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
}

extension QueryReply {
  /// Lines that name the delegates without a value; empty if no value is missing.
  ///
  /// - Parameter collects: true if the caller wants every value. If there is a value, omits abstentions.
  func lack(of subject: String, collects: Bool) -> [String] {
    let head: String
    var silent = outcomes
    if value == nil {
      head = "\(subject) has no value" + (outcomes.isEmpty ? ": no delegate answered" : "")
    } else {
      silent = outcomes.filter(\.isObjection)
      guard collects, !silent.isEmpty || omittedCount > 0 else { return [] }
      head = "\(subject) lacks values"
    }
    return [head] + silent.map { "  " + $0.plainLine() }
      + (omittedCount > 0 ? ["  and \(omittedCount) more"] : [])
  }

  var json: JSONValue {
    .object(
      [
        ("query", .unsigned(query)), (value ?? .none).jsonMember(named: "value"),
        ("outcomes", .array(outcomes.map(\.json))), ("outcomesOmitted", .unsigned(UInt64(omittedCount))),
      ] + (similarName.isEmpty ? [] : [("similarName", .string(similarName))]))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

struct PostCommand: Command {
  var signals: [Int32] { options.isBound ? SignalWatch.relayed : [] }

  private let name: String
  private let object: String
  private let userInfo: UserInfo
  let options: Tribune.PostOptions
  private let waiting: Waiting?
  private let readsLines: Bool
  /// True if the lines are texts; false if they are JSON.
  private let areTexts: Bool
  private let pace: Tribune.Pace
  private let command: [[UInt8]]

  init(_ invocation: Invocation) throws(CommandError) {
    name = try invocation.name(at: 0)
    object = try invocation.object()
    userInfo = try invocation.userInfo(at: 1)
    var options = Tribune.PostOptions(
      style: invocation.text(.style).flatMap { Tribune.PostOptions.Style(rawValue: $0) } ?? .now,
      isRetained: invocation.has(.retain) || invocation.has(.bound), isBound: invocation.has(.bound),
      isImmediate: invocation.has(.immediately))
    for word in invocation.words(.coalesce) { options.coalescing.insert(word == "name" ? .name : .object) }
    self.options = options
    waiting = try invocation.waiting()
    guard waiting == nil || options.style == .now && options.coalescing.isEmpty else {
      throw .usage("--wait cannot be combined with --coalesce, or with a --style other than now")
    }
    command = invocation.command
    guard command.isEmpty || options.isBound else { throw .usage("--exec needs --bound") }
    if options.isBound { try invocation.refuse([.wait, .eachLine], beside: .bound) }
    pace = try invocation.pace()
    readsLines = invocation.has(.eachLine)
    areTexts = invocation.has(.text)
    if readsLines {
      try invocation.refuse([.wait], beside: .eachLine)
      guard invocation.operands.count == 1 else {
        throw .usage("--lines takes the JSON from standard input, not the command line")
      }
    } else if invocation.has(.pace) {
      throw .usage("--pace needs --lines: a single post does not wait for observers")
    }
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    if readsLines {
      let posted = PostedLines(name: name, object: object, options: options, areTexts: areTexts, pace: pace)
      try await posted.run(in: context)
      return ExitStatus.success
    }
    if options.isBound { return try await bind(in: context) }
    guard let waiting else {
      try await context.request { [self] connection throws(TribuneError) in
        try await connection.postAcknowledged(name, object: object, userInfo: userInfo, options: options)
      }
      return ExitStatus.success
    }
    let reply: AwaitedReply
    do throws(TribuneError) {
      let connection = try await context.connect(within: waiting.deadline.map { min($0, context.timeout) })
      reply = try await waiting.whileWaited(over: connection) {
        [self] deadline throws(TribuneError) -> AwaitedReply in
        try await connection.postAwaited(
          name, object: object, userInfo: userInfo, deadline: deadline, isRetained: options.isRetained,
          isImmediate: options.isImmediate)
      }
    } catch {
      throw CommandError(error, status: ExitStatus.noReply)
    }
    if !context.writesValues {
      context.reportMissing(in: reply, of: name, object: object)
    } else {
      try context.print(reply.json)
    }
    return reply.missing.isEmpty ? ExitStatus.success : ExitStatus.notAcknowledged
  }

  /// Posts, and keeps the connection open while the command runs or, without a command, until a signal.
  private func bind(in context: Context) async throws(CommandError) -> Int32 {
    let router = SignalRouter.routing(context.signals)
    let connection: Connection
    do throws(TribuneError) {
      connection = try await context.connectToStay()
      try await bounded(by: context.timeout) { [self, connection] () async throws(TribuneError) in
        try await connection.postAcknowledged(name, object: object, userInfo: userInfo, options: options)
      }
    } catch {
      throw CommandError(error, status: command.isEmpty ? ExitStatus.failure : ExitStatus.noVerdict)
    }
    context.reportReady("posted \(subjectText(name, object)), while this runs")
    if !command.isEmpty {
      context.terminal.flush()
      let termination = await router.run(command, in: context)
      await connection.close()
      return termination.shellStatus
    }
    let end = await first(
      of: { () async -> TribuneError? in
        _ = await router.interruption.value
        return nil
      },
      { () async -> TribuneError? in await connection.closed() })
    if let error = end ?? nil { throw CommandError(error) }
    await connection.close()
    return ExitStatus.success
  }
}

extension Invocation {
  fileprivate func pace() throws(CommandError) -> Tribune.Pace {
    guard has(.pace) else { return .setting }
    guard let span = span(.pace)?.duration else { return .unlimited }
    guard span > .zero, span <= Tribune.Pace.longest else {
      throw .usage("--pace must be over 0 and at most \(Tribune.Pace.longest.formatted), or forever")
    }
    return .upTo(span)
  }
}

struct Waiting: Equatable, Sendable {
  /// Nil for the default of the bus.
  var deadline: Duration?

  /// Runs `post`, for at most 5 s longer than the deadline of the post.
  func whileWaited(
    over connection: Connection,
    _ post: @escaping @Sendable (_ deadline: Duration?) async throws(TribuneError) -> AwaitedReply
  ) async throws(TribuneError) -> AwaitedReply {
    try await bounded(by: connection.bus.replyTimeout(for: deadline)) {
      [self] () async throws(TribuneError) -> AwaitedReply in try await post(deadline)
    }
  }
}

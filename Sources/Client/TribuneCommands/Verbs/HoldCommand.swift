// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem
import TribuneWire

/// `hold NAME… [-- CMD…]`.
struct HoldCommand: Command {
  var signals: [Int32] { SignalWatch.relayed }

  private let patterns: [String]
  /// Empty for any.
  private let object: String
  private let why: String
  private let label: String
  private let span: Duration?
  /// Empty if there is none.
  private let command: [[UInt8]]
  /// The process for whose life it holds; nil to hold until interrupted.
  private let process: WatchedProcess?

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try Self.patterns(invocation)
    object = try invocation.object()
    guard let why = invocation.text(.why), !invocation.isBlank(.why) else {
      throw .usage("hold needs --why=REASON")
    }
    guard why.utf8.count <= WireLimits.reasonLength else {
      throw .usage("--why must have at most \(WireLimits.reasonLength) bytes")
    }
    self.why = why
    span = invocation.span(.expires)?.duration
    if let span, span <= .zero { throw .usage("--expires must be more than 0") }
    command = invocation.command
    process = try invocation.number(.pid).map { (pid) throws(CommandError) in try Self.watch(pid) }
    guard process == nil || command.isEmpty else { throw .usage("--pid and a command exclude each other") }
    label = try Self.label(invocation)
  }

  private static func watch(_ pid: Int64) throws(CommandError) -> WatchedProcess {
    do throws(Errno) {
      return try WatchedProcess(Int32(clamping: pid))
    } catch {
      throw .failure("process \(pid): \(error)")
    }
  }

  /// The label that was given; else the name of the command, or of the process that started this one: a verdict that
  /// names tribunectl would say nothing.
  private static func label(_ invocation: Invocation) throws(CommandError) -> String {
    if let label = try invocation.label() { return label }
    return invocation.commandName(
      orOf: invocation.number(.pid).map { Int32(clamping: $0) } ?? ThisProcess.parent)
  }

  /// The names to veto: those that were given, and the question about the action.
  private static func patterns(_ invocation: Invocation) throws(CommandError) -> [String] {
    var patterns = try invocation.patterns()
    for name in patterns where !name.hasSuffix("*") && !ActionNames.isQuestion(name) {
      throw .usage(
        "\"\(name)\" is not the name of a question, which ends in should and a verb\(try hint(for: name))")
    }
    if let action = invocation.text(.action) {
      patterns.append(try ActionNames(try Invocation.checkedName(action)).should)
    }
    guard !patterns.isEmpty else { throw .usage("hold needs a NAME, or --action=ACTION") }
    return patterns
  }

  private static func hint(for name: String) throws(CommandError) -> String {
    if ActionNames.lacksVerb(name) { return "" }
    let names = try ActionNames(meantBy: name)
    // An action is one name.
    let orAction = name.contains("*") ? "" : ", or --action=\(names.action)"
    return ": did you mean \(names.should)\(orAction)?"
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let router = SignalRouter.routing(context.signals)
    let taken = await first(
      of: { () async -> Taken in await take(in: context) },
      { () async -> Taken in .interrupted(await router.interruption.value) })
    switch taken {
    case .held(let holds, let connection):
      let end = span.map { ", for \($0.formatted)" } ?? ""
      let ids = holds.map { "hold \($0.id)" }.joined(separator: ", ")
      context.reportReady("holding \(names) (\(objectText(object)), \(ids)\(end))")
      if command.isEmpty {
        return try await stay(holds, over: connection, until: router.interruption, in: context)
      }
      let termination = await router.run(command, keeping: holds.last, in: context) {
        await reportEnd(of: holds, over: connection, in: context)
      }
      await connection.close()
      return termination.shellStatus
    case .interrupted(let signal): return 128 + signal
    case .failed(let error):
      throw CommandError(error, status: command.isEmpty ? ExitStatus.failure : ExitStatus.noVerdict)
    case nil: return ExitStatus.noVerdict
    }
  }

  private enum Taken: Sendable {
    case held([Tribune.Hold], Connection)
    case interrupted(Int32)
    case failed(TribuneError)
  }

  private func take(in context: Context) async -> Taken {
    do throws(TribuneError) {
      let standing = HoldStanding()
      let connection = try await context.connectToStay { lost in standing.consequence(losing: lost) }
      let holds = try await bounded(by: context.timeout) {
        [self, connection] () async throws(TribuneError) -> [Tribune.Hold] in
        var holds: [Tribune.Hold] = []
        for (index, pattern) in patterns.enumerated() {
          // The command inherits the connection, and must not be able to send anything over it.
          let isLast = !command.isEmpty && index == patterns.count - 1
          holds.append(
            try await connection.hold(
              pattern, object: object, why: why, label: label, expiresIn: span, isLast: isLast))
        }
        return holds
      }
      standing.begin(for: span)
      return .held(holds, connection)
    } catch {
      return .failed(error)
    }
  }

  private var names: String { patterns.joined(separator: " ").terminalSafe }

  /// Whether all have expired; returns false when one has ended otherwise.
  private func expired(_ holds: [Tribune.Hold]) async -> Bool {
    for hold in holds where await !hold.expired() { return false }
    return true
  }

  // MARK: Without a command

  private enum End: Sendable {
    case interrupted, expired, processEnded
    case lost(TribuneError?)
  }

  private func stay(
    _ holds: [Tribune.Hold], over connection: Connection, until interruption: Task<Int32, Never>,
    in context: Context
  ) async throws(CommandError) -> Int32 {
    let end = await first(
      of: { () async -> End in
        _ = await interruption.value
        return .interrupted
      },
      { () async -> End in
        // This process never releases the hold, so if it has not expired, the connection has ended.
        if await expired(holds) { return .expired }
        return .lost(await connection.closed())
      },
      { () async -> End in
        guard let process else {
          _ = await interruption.value
          return .interrupted
        }
        await process.ended()
        return .processEnded
      })
    switch end {
    case .lost(let error?): throw CommandError(error)
    case .expired:
      if !context.isQuiet { context.terminal.reportLine("expired \(names)") }
    case .processEnded:
      if !context.isQuiet { context.terminal.reportLine("released \(names): the process has ended") }
    case .interrupted, .lost(nil), nil: break
    }
    await connection.close()
    return ExitStatus.success
  }

  // MARK: With a command

  /// Reports when the hold ends before the command, which continues.
  private func reportEnd(of holds: [Tribune.Hold], over connection: Connection, in context: Context) async {
    let hasExpired = await expired(holds)
    if Task.isCancelled { return }
    if hasExpired {
      context.terminal.report("the hold has expired; the command continues without it")
    } else {
      let reason = await connection.closed()?.message.terminalSafe ?? "the connection was closed"
      if Task.isCancelled { return }
      context.terminal.report("the hold has ended; the command continues: \(reason)")
    }
  }
}

/// Tracks how long a hold stands, for the report of a reconnection.
final class HoldStanding: Sendable {
  private enum Term {
    case notStarted
    /// Nil for no end.
    case until(ContinuousClock.Instant?)
  }

  private let term = Mutex(Term.notStarted)

  func begin(for span: Duration?) {
    term.withLock { $0 = .until(span.map { ContinuousClock.now.advanced(by: $0) }) }
  }

  /// - Parameter lost: notifications missed; nil if the bus did not know the connection, and so not the hold.
  func consequence(losing lost: UInt64?) -> String {
    switch term.withLock({ $0 }) {
    case .notStarted: ""
    case .until(let end?) where end <= .now: ""
    case .until:
      lost == nil
        ? "; the hold is in force again, but may have been interrupted"
        : "; the hold was in force all the time"
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem
import TribuneWire

/// `hold NAME [-- CMD…]`.
struct HoldCommand: Command {
  static var signals: [Int32] { SignalWatch.relayed }

  private let pattern: String
  /// Empty for any.
  private let object: String
  private let why: String
  private let span: Duration?
  /// Empty if there is none.
  private let command: [[UInt8]]

  init(_ invocation: Invocation) throws(CommandError) {
    pattern = try invocation.patterns()[0]
    object = try invocation.object()
    guard let why = invocation.text(.why), !why.isEmpty else { throw .usage("hold needs --why=REASON") }
    guard why.utf8.count <= WireLimits.reasonLength else {
      throw .usage("--why must have at most \(WireLimits.reasonLength) bytes")
    }
    self.why = why
    span = invocation.span(.expires)?.duration
    if let span, span <= .zero { throw .usage("--expires must be more than 0") }
    command = invocation.command
  }

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let router = SignalRouter.routing(context.signals)
    let taken = await first(
      of: { () async -> Taken in await take(in: context) },
      { () async -> Taken in .interrupted(await router.interruption.value) })
    switch taken {
    case .held(let hold, let connection):
      let end = span.map { ", for \($0.formatted)" } ?? ""
      context.reportReady("holding \(pattern.terminalSafe) (\(objectText(object)), hold \(hold.id)\(end))")
      if command.isEmpty {
        return try await stay(hold, over: connection, until: router.interruption, in: context)
      }
      let termination = await router.run(command, in: context) {
        await reportEnd(of: hold, over: connection, in: context)
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
    case held(Tribune.Hold, Connection)
    case interrupted(Int32)
    case failed(TribuneError)
  }

  private func take(in context: Context) async -> Taken {
    do throws(TribuneError) {
      let standing = HoldStanding()
      let connection = try await context.connectToStay { lost in standing.consequence(losing: lost) }
      let hold = try await bounded(by: context.timeout) {
        [self, connection] () async throws(TribuneError) -> Tribune.Hold in
        try await connection.hold(pattern, object: object, why: why, expiresIn: span)
      }
      standing.begin(for: span)
      return .held(hold, connection)
    } catch {
      return .failed(error)
    }
  }

  // MARK: Without a command

  private enum End: Sendable {
    case interrupted, expired
    case lost(TribuneError?)
  }

  private func stay(
    _ hold: Tribune.Hold, over connection: Connection, until interruption: Task<Int32, Never>,
    in context: Context
  ) async throws(CommandError) -> Int32 {
    let end = await first(
      of: { () async -> End in
        _ = await interruption.value
        return .interrupted
      },
      { () async -> End in
        // This process never releases the hold, so if it has not expired, the connection has ended.
        if await hold.expired() { return .expired }
        return .lost(await connection.closed())
      })
    switch end {
    case .lost(let error?): throw CommandError(error)
    case .expired:
      if !context.isQuiet { context.terminal.reportLine("expired \(pattern.terminalSafe)") }
    case .interrupted, .lost(nil), nil: break
    }
    await connection.close()
    return ExitStatus.success
  }

  // MARK: With a command

  /// Reports when the hold ends before the command, which continues.
  private func reportEnd(of hold: Tribune.Hold, over connection: Connection, in context: Context) async {
    let hasExpired = await hold.expired()
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

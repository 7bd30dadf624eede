// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// `delegate NAME…`.
struct DelegateCommand: Command {
  private enum Way {
    case answer(Answer)
    case command([[UInt8]])
    case terminal
  }

  static var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  private let object: String
  private let way: Way
  private let order: Int32
  private let onFailure: FailurePolicy
  private let timeout: Duration?
  private let label: String

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    object = try invocation.object()
    order = Int32(clamping: invocation.number(.order) ?? 0)
    onFailure = invocation.text(.onFailure) == "abstain" ? .abstain : .veto
    timeout = try invocation.wireTimeout()
    label = invocation.text(.label) ?? ""
    guard label.utf8.count <= 255 else { throw .usage("--label has at most 255 bytes") }
    let ways: [Way] = [
      invocation.has(.approve) ? .answer(.approve) : nil,
      invocation.text(.veto).map { .answer(.veto($0)) },
      invocation.has(.exec) ? .command(invocation.command) : nil,
    ].compactMap { $0 }
    guard ways.count <= 1 else {
      throw .usage("delegate takes one of \(Self.waysInWords)")
    }
    way = ways.first ?? .terminal
  }

  private static let waysInWords = "--approve, --veto=REASON and --exec CMD…"

  func run(in context: Context) async throws(CommandError) -> Int32 {
    let log = AnswerLog(in: context)
    switch way {
    case .answer(let answer):
      return try await stay(
        AnsweringDelegate(answering: answer, log: log), in: context, until: { await log.broken() })
    case .command(let command):
      let runner = CommandRunner(in: context)
      return try await stay(
        AnsweringDelegate(running: command, by: runner, log: log), in: context, until: { await log.broken() },
        cleanUp: { await runner.end() })
    case .terminal:
      guard StandardInput.isTerminal else {
        throw .usage(
          "delegate asks on the terminal, but the standard input is none; else it takes one of \(Self.waysInWords)"
        )
      }
      let delegate = TerminalDelegate(in: context, log: log)
      return try await stay(
        delegate, timeout: TerminalDelegate.timeout, in: context,
        until: {
          await first(of: { await log.broken() }, { await delegate.readAnswers() })
            ?? .ended(ExitStatus.success)
        },
        cleanUp: { await delegate.end() })
    }
  }

  /// Attaches a delegate, and keeps it in the chain until something ends it.
  ///
  /// - Parameters:
  ///   - defaultTimeout: the time for an answer when none was given; nil is the bus's.
  ///   - end: another end than a signal and the bus's.
  ///   - cleanUp: ends what still answers.
  private func stay(
    _ delegate: some Delegate, timeout defaultTimeout: Duration? = nil, in context: Context,
    until end: @escaping @Sendable () async -> CommandError, cleanUp: @Sendable () async -> Void = {}
  ) async throws(CommandError) -> Int32 {
    let connection: Connection
    let attachment: Attachment
    do throws(TribuneError) {
      connection = try await context.connect()
      attachment = try await bounded(by: context.timeout) {
        [self, connection] () async throws(TribuneError) -> Attachment in
        try await connection.attach(
          delegate, to: object, respondingTo: patterns, order: order, onFailure: onFailure,
          timeout: timeout ?? defaultTimeout,
          label: label)
      }
    } catch {
      throw CommandError(error)
    }
    let about = object.isEmpty ? "any object" : "object \(object.terminalSafe)"
    context.reportReady(
      "attached \(patterns.joined(separator: " ").terminalSafe) (\(about), delegate \(attachment.id))")
    let ended = await first(
      of: { () async -> CommandError in
        await context.signals.interruption()
        return .ended(ExitStatus.success)
      },
      { () async -> CommandError in
        guard let error = await connection.closed() else { return .ended(ExitStatus.success) }
        return CommandError(error)
      },
      end)
    // The chain does not keep the delegate; this does, until here.
    await cleanUp()
    withExtendedLifetime(delegate) {}
    throw ended ?? .ended(ExitStatus.success)
  }
}

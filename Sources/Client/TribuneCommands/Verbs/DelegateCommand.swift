// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

struct DelegateCommand: Command {
  private enum AnswerSource {
    case answer(Answer)
    case command([[UInt8]], concluding: [UInt8]?)
    case terminal
    case folder([UInt8])
  }

  var signals: [Int32] { SignalWatch.interrupting }

  private let patterns: [String]
  private let object: String
  private let source: AnswerSource
  private let order: Int32
  private let onFailure: FailurePolicy
  private let timeout: Duration?
  private let label: String
  private let isSet: Bool
  private let protocols: [String]

  init(_ invocation: Invocation) throws(CommandError) {
    patterns = try invocation.patterns()
    object = try invocation.object(of: patterns)
    order = Int32(clamping: invocation.number(.order) ?? 0)
    onFailure = invocation.text(.onFailure) == "abstain" ? .abstain : .veto
    timeout = try invocation.wireTimeout()
    label = try invocation.label() ?? ""
    isSet = invocation.has(.set)
    protocols = invocation.text(.conforms)?.split(separator: ",").map { String($0) } ?? []
    guard !invocation.has(.conforms) || !protocols.isEmpty else {
      throw .usage("--conforms needs protocol names, separated by commas")
    }
    guard !invocation.isBlank(.veto) else { throw .usage("--veto needs a reason") }
    let sources: [AnswerSource] = [
      invocation.has(.approve) ? .answer(.approve) : nil,
      invocation.text(.veto).map { .answer(.veto($0)) },
      invocation.has(.exec)
        ? .command(invocation.command, concluding: invocation.text(.concluded).map { Array($0.utf8) }) : nil,
      invocation.text(.directory).map { .folder(Array($0.utf8)) },
    ].compactMap { $0 }
    guard sources.count <= 1 else { throw .usage("delegate takes only one of \(Self.sourcesText)") }
    source = sources.first ?? .terminal
    try ActionNames.requireQuestions(patterns, orValues: !invocation.has(.approve) && !invocation.has(.veto))
    guard invocation.has(.exec) || !invocation.has(.concluded) else {
      throw .usage("--concluded is for --exec; with --directory, add FILE.concluded")
    }
    if case .folder(let path) = source {
      guard !path.isEmpty else { throw .usage("--directory needs the path of a folder") }
      guard patterns.isEmpty, !invocation.has(.order), !invocation.has(.label), !isSet else {
        throw .usage("--directory cannot be combined with NAME, --order, --label or --set")
      }
    } else if patterns.isEmpty {
      throw .usage("delegate needs NAME…, or --directory=DIR")
    }
  }

  private static let sourcesText = "--approve, --veto=REASON, --exec CMD… and --directory=DIR"

  func run(in context: Context) async throws(CommandError) -> Int32 {
    try context.requireAskers(of: patterns)
    if case .terminal = source, !StandardInput.isTerminal {
      throw .usage("standard input is not a terminal: delegate needs one of \(Self.sourcesText)")
    }
    var context = context
    context.terminal = context.terminal.unblocked()
    defer { context.terminal.flush() }
    let log = try AnswerLog(in: context)
    let connection = try await orEnd { () async throws(TribuneError) -> Connection in
      try await context.connectToStay(missing: "notification", identifyingPosters: true)
    }
    let runner = CommandRunner(in: context, valueLength: connection.bus.payloadMax)
    let closed = { @Sendable () async -> CommandError in
      await connection.closed().map { CommandError($0) } ?? .ended(ExitStatus.success)
    }
    let end: CommandError
    switch source {
    case .answer(let answer):
      let delegate = AnsweringDelegate(answering: answer, log: log)
      try await attach(delegate, timeout: timeout, over: connection, in: context)
      end = await Self.end(of: delegate, log, in: context, or: closed)
    case .command(let command, let concluding):
      let delegate = CommandDelegate(running: command, concluding: concluding, by: runner, log: log)
      try await attach(delegate, timeout: timeout, over: connection, in: context)
      end = await Self.end(of: delegate, log, in: context, or: closed)
      await runner.stop()
      await connection.close()
      delegate.retire()
      await delegate.idle()
    case .terminal:
      let delegate = TerminalDelegate(in: context, log: log)
      try await attach(delegate, timeout: timeout ?? TerminalDelegate.timeout, over: connection, in: context)
      end = await Self.end(of: delegate, log, in: context) {
        await first(of: closed, { await delegate.readAnswers() }) ?? .ended(ExitStatus.success)
      }
      await delegate.end()
    case .folder(let path):
      let folder: DelegateFolder
      do throws(Errno) {
        folder = try DelegateFolder(
          path, on: .init(object: object, onFailure: onFailure, timeout: timeout, protocols: protocols),
          over: connection, by: runner, log: log, in: context)
      } catch {
        throw .failure("folders cannot be watched: \(error)")
      }
      end = await Self.end(of: folder, log, in: context, or: { await folder.run() })
      await runner.stop()
      await folder.end()
    }
    // The connection is closed before the output is flushed, because askers must not wait for the output.
    await connection.close()
    await runner.flush()
    log.flush()
    throw end
  }

  private func attach(
    _ delegate: some Delegate, timeout: Duration?, over connection: Connection, in context: Context
  ) async throws(CommandError) {
    let attachment: Attachment
    do throws(TribuneError) {
      attachment = try await bounded(by: context.timeout) {
        [self] () async throws(TribuneError) -> Attachment in
        if isSet {
          try await connection.set(
            delegate, to: object, respondingTo: patterns, order: order, onFailure: onFailure,
            timeout: timeout, label: label, conformingTo: protocols)
        } else {
          try await connection.attach(
            delegate, to: object, respondingTo: patterns, order: order, onFailure: onFailure,
            timeout: timeout, label: label, conformingTo: protocols)
        }
      }
    } catch {
      throw .failure(error.attachmentMessage)
    }
    context.reportReady(
      "attached \(patterns.joined(separator: " ").terminalSafe) "
        + "(\(objectText(object)), delegate \(attachment.id)\(Self.valuesText(patterns)))")
  }

  /// A note about patterns that match only value queries, because the user may have meant an action.
  static func valuesText(_ patterns: some Sequence<String>) -> String {
    let values = patterns.filter(ActionNames.isValue)
    return values.isEmpty ? "" : "; only for values: \(values.joined(separator: " ").terminalSafe)"
  }

  /// Waits until the verb must end, and keeps the delegate alive: the connection does not retain delegates.
  private static func end(
    of delegate: some AnyObject & Sendable, _ log: AnswerLog, in context: Context,
    or other: @escaping @Sendable () async -> CommandError
  ) async -> CommandError {
    let end = await first(
      of: { () async -> CommandError in
        await context.signals.interruption()
        return .ended(ExitStatus.success)
      }, { await log.ended() }, other)
    withExtendedLifetime(delegate) {}
    return end ?? .ended(ExitStatus.success)
  }
}

extension TribuneError {
  var attachmentMessage: String {
    let remedy = "; --conforms=PROTOCOL,… says to which protocols it conforms"
    return message.terminalSafe + (code == .notConforming ? remedy : "")
  }
}

final class AnsweringDelegate: Delegate {
  private let answer: Answer
  private let log: AnswerLog

  init(answering answer: Answer, log: AnswerLog) {
    self.answer = answer
    self.log = log
  }

  func answer(_ question: Question) async -> Answer {
    // The fixed answer is an approval or a veto, and not a value.
    let answer = question.wantsValue ? Answer.abstain : answer
    // If the bus withdraws the question, the library cancels this task and discards the answer.
    log.show(Task.isCancelled ? nil : answer, to: question)
    return answer
  }

  func received(_ delivery: Delivery) async { log.show(delivery) }

  func replaced(by delegate: DelegateInfo) async { log.replaced(by: delegate) }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneJSON

/// Prints a delegate's answers, and the notifications that it receives, on standard output.
final class AnswerLog: Sendable {
  private let context: Context
  private let hasReportedOutput = Mutex(false)
  private let (ends, end) = AsyncStream<CommandError>.makeStream(bufferingPolicy: .bufferingOldest(1))

  init(in context: Context) { self.context = context }

  /// Prints an answer; nil means that the question was withdrawn.
  ///
  /// - Parameters:
  ///   - label: which of several delegates answers.
  ///   - asked: when the question came.
  func show(
    _ answer: Answer?, to question: Question, by label: String? = nil,
    since asked: ContinuousClock.Instant = .now
  ) {
    let elapsed = asked.duration(to: .now)
    write { () throws(CommandError) in
      try context.write(
        question.line(with: answer, by: label, after: elapsed, in: context) + "\n",
        or: question.json(with: answer, by: label, after: elapsed))
    }
  }

  /// Prints a will- or did-notification as `observe` does.
  func show(_ delivery: Delivery) {
    write { () throws(CommandError) in try context.print(delivery) }
  }

  /// Ends the command: another delegate was set in place of this one.
  func replaced(by delegate: DelegateInfo) {
    let participant = delegateText(
      delegate.id, label: delegate.label, process: delegate.process, pid: delegate.pid, uid: delegate.uid,
      units: delegate.units)
    end.yield(.failure("replaced by \(participant)"))
  }

  private func write(_ write: () throws(CommandError) -> Void) {
    guard !context.isQuiet else { return }
    do throws(CommandError) {
      try write()
    } catch  where error.message.isEmpty {
      end.yield(error)
    } catch {
      // A full disk must not lift a veto.
      let isFirst = hasReportedOutput.withLock { hasReported in
        defer { hasReported = true }
        return !hasReported
      }
      if isFirst { context.terminal.report("answers are no longer shown: \(error.message)") }
    }
  }

  /// Returns when the reader of the output has closed it, or when the delegate was replaced.
  func ended() async -> CommandError {
    // Nil if the task was cancelled: then the result is not used.
    await ends.first { _ in true } ?? .ended(ExitStatus.success)
  }
}

extension Question {
  /// `time  :asker  name  object  userInfo  label  → vetoed: reason`. A withdrawn question has no answer.
  func line(with answer: Answer?, by label: String?, after elapsed: Duration, in context: Context) -> String {
    let words = answer?.words ?? "withdrawn: \(withdrawal(after: elapsed))"
    let parts = [
      context.styled(timeOfDay(), .faint), asker.connection, context.styled(name.terminalSafe, .bold),
      object.isEmpty ? "-" : object.terminalSafe, userInfo.line, label?.terminalSafe ?? "",
      "→ \(words)\(isDryRun ? " (dry run)" : "")",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// The bus does not say why it withdrew the question; the times tell whether the answer was late.
  private func withdrawal(after elapsed: Duration) -> String {
    "no answer after \(elapsed.formatted), of \(timeout.formatted)"
  }

  func json(with answer: Answer?, by label: String?, after elapsed: Duration) -> JSONValue {
    var value: [(name: String, value: JSONValue)] = []
    if case .value(let given) = answer { value = [("value", given.jsonMember.value)] }
    let members: [(name: String, value: JSONValue)] = [
      ("query", .unsigned(query)), ("name", .string(name)), ("object", .string(object)), userInfo.jsonMember,
      ("asker", asker.json), ("answer", .string(answer?.word ?? "withdrawn")),
      ("reason", .string(answer.map { $0.reason } ?? withdrawal(after: elapsed))),
    ]
    let dryRun: [(name: String, value: JSONValue)] = isDryRun ? [("dryRun", .bool(true))] : []
    return .object(members + value + (label.map { [("label", .string($0))] } ?? []) + dryRun)
  }
}

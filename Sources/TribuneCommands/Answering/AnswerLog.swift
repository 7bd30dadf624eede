// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneJSON

/// Writes down what a delegate answers and to whom, and what it is told, on the standard output.
final class AnswerLog: Sendable {
  private let context: Context
  private let hasReportedOutput = Mutex(false)
  private let (ends, end) = AsyncStream<CommandError>.makeStream(bufferingPolicy: .bufferingOldest(1))

  init(in context: Context) { self.context = context }

  /// Writes down an answer; nil is that nobody waits for one any more.
  ///
  /// - Parameter label: which of several delegates says it.
  func show(_ answer: Answer?, to question: Question, by label: String? = nil) {
    write { () throws(CommandError) in
      if context.json == .off {
        try context.print(question.line(with: answer, by: label, in: context))
      } else {
        try context.print(question.json(with: answer, by: label))
      }
    }
  }

  /// Writes down what is about to happen or has happened, as `observe` does.
  func show(_ delivery: Delivery) {
    write { () throws(CommandError) in try context.print(delivery) }
  }

  /// Another delegate was set in this one's place: there is nothing left to answer.
  func replaced(by delegate: DelegateInfo) {
    let who = delegateInWords(
      delegate.id, label: delegate.label, process: delegate.process, pid: delegate.pid, uid: delegate.uid,
      unit: delegate.unit)
    end.yield(.failure("replaced by \(who)"))
  }

  private func write(_ write: () throws(CommandError) -> Void) {
    guard !context.isQuiet else { return }
    do throws(CommandError) {
      try write()
    } catch  where error.message.isEmpty {
      end.yield(error)
    } catch {
      // A disk that is full must not lift a veto.
      let isFirst = hasReportedOutput.withLock { hasReported in
        defer { hasReported = true }
        return !hasReported
      }
      if isFirst { context.terminal.report("answering goes on, unseen: \(error.message)") }
    }
  }

  /// Returns when nobody reads any more what is written down, or when the delegate was replaced.
  func ended() async -> CommandError {
    for await end in ends { return end }
    // The task was cancelled, and nobody waits.
    return .ended(ExitStatus.success)
  }
}

extension Question {
  /// `time  :asker  name  object  userInfo  label  → vetoed: reason`; no answer when the question was withdrawn.
  fileprivate func line(with answer: Answer?, by label: String?, in context: Context) -> String {
    let parts = [
      context.styled(timeOfDay(), .faint), asker.connection, context.styled(name.terminalSafe, .bold),
      object.isEmpty ? "-" : object.terminalSafe, userInfo.line, label?.terminalSafe ?? "",
      "→ \(answer?.words ?? "withdrawn")\(isDryRun ? " (dry run)" : "")",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  fileprivate func json(with answer: Answer?, by label: String?) -> JSONValue {
    var value: [(name: String, value: JSONValue)] = []
    if case .value(let given) = answer { value = [("value", given.jsonMember.value)] }
    let members: [(name: String, value: JSONValue)] = [
      ("query", .unsigned(query)), ("name", .string(name)), ("object", .string(object)), userInfo.jsonMember,
      ("asker", asker.json), ("answer", .string(answer?.word ?? "withdrawn")),
      ("reason", .string(answer?.reason ?? "")),
    ]
    let dryRun: [(name: String, value: JSONValue)] = isDryRun ? [("dryRun", .bool(true))] : []
    return .object(members + value + (label.map { [("label", .string($0))] } ?? []) + dryRun)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneJSON

/// Writes down what a delegate answers, and to whom, on the standard output.
final class AnswerLog: Sendable {
  private let context: Context
  private let hasReportedOutput = Mutex(false)
  private let (errors, error) = AsyncStream<CommandError>.makeStream(bufferingPolicy: .bufferingNewest(1))

  init(in context: Context) { self.context = context }

  /// Writes down an answer; nil is that nobody waits for one any more.
  ///
  /// - Parameter label: which of several delegates says it.
  func show(_ answer: Answer?, to question: Question, by label: String? = nil) {
    guard !context.isQuiet else { return }
    do throws(CommandError) {
      if context.json == .off {
        try context.print(question.line(with: answer, by: label, in: context))
      } else {
        try context.print(question.json(with: answer, by: label))
      }
    } catch  where error.message.isEmpty {
      self.error.yield(error)
    } catch {
      // A disk that is full must not lift a veto.
      let isFirst = hasReportedOutput.withLock { hasReported in
        defer { hasReported = true }
        return !hasReported
      }
      if isFirst { context.terminal.report("answering goes on, unseen: \(error.message)") }
    }
  }

  /// Returns when nobody reads any more what is written down.
  func broken() async -> CommandError {
    for await error in errors { return error }
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
      "→ \(answer?.words ?? "withdrawn")",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  fileprivate func json(with answer: Answer?, by label: String?) -> JSONValue {
    let members: [(name: String, value: JSONValue)] = [
      ("query", .unsigned(query)), ("name", .string(name)), ("object", .string(object)), userInfo.jsonMember,
      ("asker", asker.json), ("answer", .string(answer?.word ?? "withdrawn")),
      ("reason", .string(answer?.reason ?? "")),
    ]
    return .object(members + (label.map { [("label", .string($0))] } ?? []))
  }
}

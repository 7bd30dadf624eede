// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneJSON
import TribuneSystem

/// Prints a delegate's answers and notifications. Any user can cause lines by asking or posting. So this type
/// prints only the length of long userInfo. It also limits each user's lines, but not those of root and of
/// this process's user.
final class AnswerLog: Sendable {
  private struct State {
    var omittedCount = 0
    var limits = LineLimits()
  }

  private static let flushTime = Duration.seconds(1)

  private let context: Context
  private let output: OutputThread
  private let state = Mutex(State())
  private let ends: AsyncStream<CommandError>
  private let end: AsyncStream<CommandError>.Continuation

  init(in context: Context) throws(CommandError) {
    self.context = context
    let (ends, end) = AsyncStream<CommandError>.makeStream(bufferingPolicy: .bufferingOldest(1))
    (self.ends, self.end) = (ends, end)
    let hasReported = Mutex(false)
    do throws(Errno) {
      output = try OutputThread { bytes in
        do throws(CommandError) {
          try context.write(bytes: bytes)
        } catch {
          // A failed write does not end the delegate: a full disk must not lift a veto.
          let isFirst = hasReported.withLock { hasReported in
            defer { hasReported = true }
            return !hasReported
          }
          let why = error.message.isEmpty ? "standard output was closed" : error.message
          if isFirst { context.terminal.report("answers are no longer shown: \(why)") }
        }
      }
    } catch {
      throw .failure("answers cannot be shown: \(error)")
    }
  }

  func show(
    _ answer: Answer?, to question: Question, by label: String? = nil,
    since asked: ContinuousClock.Instant = .now
  ) {
    let elapsed = asked.duration(to: .now)
    guard !context.isQuiet, takeLine(of: question.asker.uid) else { return }
    print(
      context.text(
        question.line(with: answer, by: label, after: elapsed, in: context) + "\n",
        or: question.json(with: answer, by: label, after: elapsed)))
  }

  func show(_ delivery: Delivery) {
    guard !context.isQuiet else { return }
    if case .notification(let notification) = delivery, let user = notification.poster?.uid,
      !takeLine(of: user)
    {
      return
    }
    if context.reportGap(delivery) { return }
    let limit = UserInfo.delegateLength
    print(
      context.text(
        delivery.line(in: context, userInfoUpTo: limit) + "\n", or: delivery.json(userInfoUpTo: limit)))
  }

  private func takeLine(of user: UInt32) -> Bool {
    if ThisProcess.isPrivileged(user) { return true }
    return state.withLock { state in
      if state.limits.take(for: user) { return true }
      state.omittedCount += 1
      return false
    }
  }

  private func print(_ text: String) {
    printOmitted()
    if !output.write(Array(text.utf8)) { state.withLock { $0.omittedCount += 1 } }
  }

  private func printOmitted() {
    let count = state.withLock { state in
      defer { state.omittedCount = 0 }
      return state.omittedCount
    }
    guard count > 0 else { return }
    let text = context.text("(left out: \(count))\n", or: .object([("omitted", .unsigned(UInt64(count)))]))
    if !output.write(Array(text.utf8)) { state.withLock { $0.omittedCount += count } }
  }

  func flush() {
    output.flush(atMost: Self.flushTime)
    printOmitted()
    output.flush(atMost: Self.flushTime)
  }

  func replaced(by delegate: DelegateInfo) {
    end.yield(.failure("replaced by \(delegate.participant)"))
  }

  func ended() async -> CommandError {
    // If the task was cancelled, the stream ends without an element, and the caller ignores the result.
    await ends.first { _ in true } ?? .ended(ExitStatus.success)
  }
}

extension DelegateInfo {
  var participant: String {
    delegateText(id, label: label, process: process, pid: pid, uid: uid, units: units)
  }
}

extension Question {
  func line(with answer: Answer?, by label: String?, after elapsed: Duration, in context: Context) -> String {
    let words = answer?.words ?? "withdrawn: \(withdrawal(after: elapsed))"
    let parts = [
      context.styled(timeOfDay(), .faint), asker.connection, context.styled(name.terminalSafe, .bold),
      object.isEmpty ? "-" : object.terminalSafe, userInfo.line(upTo: UserInfo.delegateLength),
      label?.terminalSafe ?? "",
      "→ \(words)\(isDryRun ? " (dry run)" : "")",
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// The bus does not say why it withdrew the question. The elapsed time and the timeout show whether the
  /// answer was late.
  private func withdrawal(after elapsed: Duration) -> String {
    "no answer after \(elapsed.formatted), of \(timeout.formatted)"
  }

  func json(with answer: Answer?, by label: String?, after elapsed: Duration) -> JSONValue {
    var value: [(name: String, value: JSONValue)] = []
    if case .value(let given) = answer { value = [("value", given.jsonMember.value)] }
    let members: [(name: String, value: JSONValue)] = [
      ("query", .unsigned(query)), ("name", .string(name)), ("object", .string(object)),
      userInfo.jsonMember(upTo: UserInfo.delegateLength),
      ("asker", asker.json), ("answer", .string(answer?.word ?? "withdrawn")),
      ("reason", .string(answer.map { $0.reason } ?? withdrawal(after: elapsed))),
    ]
    let dryRun: [(name: String, value: JSONValue)] = isDryRun ? [("dryRun", .bool(true))] : []
    return .object(members + value + (label.map { [("label", .string($0))] } ?? []) + dryRun)
  }
}

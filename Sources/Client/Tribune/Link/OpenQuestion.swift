// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// A question that the bus has not concluded yet, and its delegate's task.
///
/// Its answer and its ending come from different threads. The lock is held briefly, and taken after the link's if
/// both are.
final class OpenQuestion: Sendable {
  private enum Stage {
    /// → answered, withdrawn
    case open
    /// The answer is in the outbox. Final.
    case answered
    /// The bus no longer waits for the answer. Final.
    case withdrawn
  }

  private struct State {
    /// Nil if the task returned before it was stored here.
    var task: Task<Void, Never>?
    var stage = Stage.open
    /// Only then can the delegate learn how the query ended.
    var hasReturned = false
    var ending: Conclusion.Ending?
  }

  let attachment: Serial
  let question: Question
  private weak let delegate: (any Delegate)?
  private let attached: AttachedDelegate
  private let number: UInt64?
  private let state = Mutex(State())

  init(
    _ question: Question, to delegate: any Delegate, through attached: AttachedDelegate, serial: Serial,
    number: UInt64?
  ) {
    self.question = question
    self.delegate = delegate
    self.attached = attached
    self.number = number
    attachment = serial
  }

  var isAnswered: Bool { state.withLock { $0.stage == .answered } }

  func markAnswered() { state.withLock { $0.stage = .answered } }

  /// Runs on the calling thread up to the first suspension.
  func start(on link: Link) {
    let task = Task.immediate { await answer(on: link) }
    // By now, the delegate, or its actor's queue, has the question.
    if let number { attached.markStarted(number) }
    let isWithdrawn = state.withLock { state -> Bool in
      if !state.hasReturned { state.task = task }
      return state.stage == .withdrawn
    }
    if isWithdrawn { task.cancel() }
  }

  private func answer(on link: Link) async {
    // The question was withdrawn before its task could be cancelled.
    if state.withLock({ $0.stage == .withdrawn }) { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
    var answer = Answer.abstain
    do {
      if let delegate { answer = try await delegate.answer(question) }
    } catch {
      answer = .failed("\(error)")
    }
    link.perform(link.state.withLock { $0.answer(self, answer) })
    let ending = state.withLock { state -> Conclusion.Ending? in
      state.hasReturned = true
      state.task = nil
      return state.ending
    }
    if let ending { tellDelegate(ending, here: true) }
  }

  func withdraw() {
    let task = state.withLock { state -> Task<Void, Never>? in
      if state.stage == .answered { return nil }
      state.stage = .withdrawn
      return state.task
    }
    task?.cancel()
  }

  /// Reports the ending to the delegate once `answer` has returned.
  ///
  /// - Parameter here: the calling thread may run the delegate, up to its first suspension.
  func conclude(_ ending: Conclusion.Ending, here: Bool) {
    withdraw()
    let hasReturned = state.withLock { state in
      if !state.hasReturned { state.ending = ending }
      return state.hasReturned
    }
    if hasReturned { tellDelegate(ending, here: here) }
  }

  private func tellDelegate(_ ending: Conclusion.Ending, here: Bool) {
    let conclusion = Conclusion(query: question.query, ending: ending)
    if here {
      Task.immediate { [delegate] in await delegate?.concluded(conclusion) }
    } else {
      Task { [delegate] in await delegate?.concluded(conclusion) }
    }
  }
}

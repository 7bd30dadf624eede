// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// A question that the bus has not concluded yet, with the task in which the delegate answers it.
///
/// The answer and the query's end come from different threads, so a lock protects the state. A thread that
/// also needs the link's lock takes the link's lock first.
final class OpenQuestion: Sendable {
  /// The stage of the answer. Each arrow lists the stages that can follow.
  private enum Stage {
    /// The bus waits for the answer. → answered, withdrawn
    case open
    /// The answer is in the outbox. Final.
    case answered
    /// The bus no longer waits for the answer. Final.
    case withdrawn
  }

  private struct State {
    /// The task of the delegate's `answer`; nil before `start` stores it, and after `answer` has returned.
    var task: Task<Void, Never>?
    var stage = Stage.open
    /// True once the delegate's `answer` has returned. Only then may the delegate learn how the query ended.
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

  /// Starts the delegate's task, which runs on the calling thread up to its first suspension.
  func start(on link: Link) {
    let task = Task.immediate { await answer(on: link) }
    // By now, the question has reached the delegate, or the queue of the delegate's actor.
    if let number { attached.markStarted(number) }
    let isWithdrawn = state.withLock { state -> Bool in
      if !state.hasReturned { state.task = task }
      return state.stage == .withdrawn
    }
    if isWithdrawn { task.cancel() }
  }

  private func answer(on link: Link) async {
    // `withdraw` can cancel the task only after `start` has stored it. If the question was withdrawn before
    // this task began, the task cancels itself here. If it is withdrawn between the two, `start` cancels the
    // task.
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

  /// Tells the delegate how the query ended, once the delegate's `answer` has returned.
  ///
  /// - Parameter here: true if the calling thread may run the delegate's method up to its first suspension.
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

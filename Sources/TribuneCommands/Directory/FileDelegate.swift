// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

/// The delegate that a file is. Once it is retired it runs no more commands, but one that runs may finish.
final class FileDelegate: Delegate {
  private struct State {
    var isRetired = false
    /// The queries that it was asked in and that have not ended. Not the answer but the end of the query
    /// is what counts: what is answered is on its way until then.
    var open: Set<UInt64> = []
    var waiting: [CheckedContinuation<Bool, Never>] = []

    mutating func takeWaiting() -> [CheckedContinuation<Bool, Never>] {
      defer { waiting = [] }
      return waiting
    }
  }

  private let path: [UInt8]
  private let label: String
  private let runner: CommandRunner
  private let log: AnswerLog
  private let state = Mutex(State())

  init(path: [UInt8], label: String, by runner: CommandRunner, log: AnswerLog) {
    self.path = path
    self.label = label
    self.runner = runner
    self.log = log
  }

  func answer(_ question: Question) async -> Answer {
    // A file that has just gone is no delegate any more, though nobody has noticed yet.
    guard Folder.kind(of: path) == .program else { return .abstain }
    let isAsked = state.withLock { state in
      if !state.isRetired { state.open.insert(question.query) }
      return !state.isRetired
    }
    guard isAsked else { return .abstain }
    let answer = await runner.answer(question, by: [path])
    log.show(Task.isCancelled ? nil : answer, to: question, by: label)
    return answer
  }

  func concluded(_ conclusion: Conclusion) async {
    let waiting = state.withLock { state in
      state.open.remove(conclusion.query)
      return state.open.isEmpty ? state.takeWaiting() : []
    }
    for one in waiting { one.resume(returning: true) }
  }

  func replaced(by delegate: DelegateInfo) async { log.replaced(by: delegate) }

  var isRetired: Bool { state.withLock { $0.isRetired } }

  /// Has it answer no more questions.
  ///
  /// - Returns: whether none is open.
  func retire() -> Bool {
    state.withLock { state in
      state.isRetired = true
      return state.open.isEmpty
    }
  }

  /// Waits until a retired delegate has no open question.
  ///
  /// - Returns: false if it is asked again instead.
  func idle() async -> Bool {
    await withCheckedContinuation { continuation in
      let result = state.withLock { state -> Bool? in
        if !state.isRetired { return false }
        if state.open.isEmpty { return true }
        state.waiting.append(continuation)
        return nil
      }
      if let result { continuation.resume(returning: result) }
    }
  }

  /// Has it answer again.
  func revive() {
    let waiting = state.withLock { state in
      state.isRetired = false
      return state.takeWaiting()
    }
    for one in waiting { one.resume(returning: false) }
  }
}

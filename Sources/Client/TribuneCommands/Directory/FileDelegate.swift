// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

/// The delegate for one file. After its retirement it runs no new commands, but a running command may finish.
final class FileDelegate: Delegate {
  private struct State {
    var isRetired = false
    /// Queries in which it was asked and that have not ended. A query counts until it ends, not until the answer,
    /// because the answer may still be on its way.
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
    // The file may just have gone, before the folder was read again.
    guard Folder.kind(of: path) == .program else { return .abstain }
    let isAsked = state.withLock { state in
      if !state.isRetired { state.open.insert(question.query) }
      return !state.isRetired
    }
    guard isAsked else { return .abstain }
    let asked = ContinuousClock.now
    let answer = await runner.answer(question, by: [path])
    log.show(Task.isCancelled ? nil : answer, to: question, by: label, since: asked)
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

  /// Makes it abstain from all further questions.
  ///
  /// - Returns: whether no question is open.
  func retire() -> Bool {
    state.withLock { state in
      state.isRetired = true
      return state.open.isEmpty
    }
  }

  /// Waits until a retired delegate has no open question.
  ///
  /// - Returns: false if it was revived first.
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

  func revive() {
    let waiting = state.withLock { state in
      state.isRetired = false
      return state.takeWaiting()
    }
    for one in waiting { one.resume(returning: false) }
  }
}

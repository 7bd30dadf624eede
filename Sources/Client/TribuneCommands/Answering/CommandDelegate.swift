// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem

final class CommandDelegate: Delegate {
  /// A question whose query has not ended. `concluded` runs a program for this user with these variables.
  private struct OpenQuery {
    var user: UInt32
    var variables: [(name: String, value: String?)]
  }

  private struct State {
    var isRetired = false
    var open: [UInt64: OpenQuery] = [:]
    var waiting: [CheckedContinuation<Bool, Never>] = []

    mutating func takeWaiting() -> [CheckedContinuation<Bool, Never>] {
      defer { waiting = [] }
      return waiting
    }
  }

  private let command: [[UInt8]]
  private let concluding: [UInt8]?
  /// The label of a file of `delegate --directory`; nil for the only delegate of `delegate --exec`.
  private let label: String?
  private let isBroken: @Sendable () -> Void
  private let isReplaced: @Sendable (DelegateInfo) -> Void
  private let runner: CommandRunner
  private let log: AnswerLog
  private let state = Mutex(State())

  init(running command: [[UInt8]], concluding: [UInt8]?, by runner: CommandRunner, log: AnswerLog) {
    (self.command, self.concluding) = (command, concluding)
    (label, self.runner, self.log) = (nil, runner, log)
    isBroken = {}
    isReplaced = { log.replaced(by: $0) }
  }

  /// Creates the delegate for a file of a folder. The file can disappear at any time.
  ///
  /// - Parameter isBroken: called if a question arrives after the file has stopped being a program.
  init(
    file: [UInt8], label: String, by runner: CommandRunner, log: AnswerLog,
    isBroken: @escaping @Sendable () -> Void, isReplaced: @escaping @Sendable (DelegateInfo) -> Void
  ) {
    (command, concluding) = ([file], file + DelegateFile.concludedSuffix)
    (self.label, self.runner, self.log) = (label, runner, log)
    (self.isBroken, self.isReplaced) = (isBroken, isReplaced)
  }

  func answer(_ question: Question) async -> Answer {
    let query = OpenQuery(user: question.asker.uid, variables: CommandRunner.variables(of: question))
    let isAsked = state.withLock { state in
      if !state.isRetired { state.open[question.query] = query }
      return !state.isRetired
    }
    guard isAsked else { return .abstain }
    if label != nil, Folder.kind(of: command[0]) != .program { isBroken() }
    let asked = ContinuousClock.now
    let answer = await runner.answer(question, by: command)
    // If the bus withdraws the question, the library cancels this task and discards the answer.
    log.show(Task.isCancelled ? nil : answer, to: question, by: label, since: asked)
    return answer
  }

  func concluded(_ conclusion: Conclusion) async {
    guard let query = state.withLock({ $0.open[conclusion.query] }) else { return }
    if let concluding, label == nil || Folder.kind(of: concluding) == .program {
      await runner.conclude(conclusion.ending, of: query.user, setting: query.variables, by: concluding)
    }
    let waiting = state.withLock { state in
      state.open[conclusion.query] = nil
      return state.open.isEmpty ? state.takeWaiting() : []
    }
    for one in waiting { one.resume(returning: true) }
  }

  func received(_ delivery: Delivery) async {
    if label == nil { log.show(delivery) }
  }

  func replaced(by delegate: DelegateInfo) async { isReplaced(delegate) }

  var isRetired: Bool { state.withLock { $0.isRetired } }

  /// Makes the delegate abstain from new questions. Running commands finish. Returns true if no query is
  /// open.
  @discardableResult
  func retire() -> Bool {
    state.withLock { state in
      state.isRetired = true
      return state.open.isEmpty
    }
  }

  /// Waits until no query is open. Returns false if the delegate is not retired, or is revived meanwhile.
  @discardableResult
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

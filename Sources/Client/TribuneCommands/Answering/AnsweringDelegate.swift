// SPDX-License-Identifier: Apache-2.0

import Tribune

/// A delegate that gives one fixed answer, or lets a command answer.
final class AnsweringDelegate: Delegate {
  private let decide: @Sendable (Question) async -> Answer
  private let log: AnswerLog

  init(answering answer: Answer, log: AnswerLog) {
    // An approval or a veto is not a value.
    decide = { $0.wantsValue ? .abstain : answer }
    self.log = log
  }

  init(running command: [[UInt8]], by runner: CommandRunner, log: AnswerLog) {
    decide = { await runner.answer($0, by: command) }
    self.log = log
  }

  func answer(_ question: Question) async -> Answer {
    let asked = ContinuousClock.now
    let answer = await decide(question)
    // The task is cancelled when the question is withdrawn. The answer is discarded then.
    log.show(Task.isCancelled ? nil : answer, to: question, since: asked)
    return answer
  }

  func received(_ delivery: Delivery) async { log.show(delivery) }

  func replaced(by delegate: DelegateInfo) async { log.replaced(by: delegate) }
}

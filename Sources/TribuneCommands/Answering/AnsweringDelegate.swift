// SPDX-License-Identifier: Apache-2.0

import Tribune

/// A delegate that gives one fixed answer, or lets a command answer.
final class AnsweringDelegate: Delegate {
  private enum Way: Sendable {
    case answer(Answer)
    case command([[UInt8]], CommandRunner)
  }

  private let way: Way
  private let log: AnswerLog

  init(answering answer: Answer, log: AnswerLog) {
    way = .answer(answer)
    self.log = log
  }

  init(running command: [[UInt8]], by runner: CommandRunner, log: AnswerLog) {
    way = .command(command, runner)
    self.log = log
  }

  func answer(_ question: Question) async -> Answer {
    let answer =
      switch way {
      // An approval or a veto is no value.
      case .answer(let answer): question.wantsValue ? .abstain : answer
      case .command(let command, let runner): await runner.answer(question, by: command)
      }
    // The task is cancelled when the question is withdrawn. Nobody receives the answer then.
    log.show(Task.isCancelled ? nil : answer, to: question)
    return answer
  }

  func received(_ delivery: Delivery) async { log.show(delivery) }

  func replaced(by delegate: DelegateInfo) async { log.replaced(by: delegate) }
}

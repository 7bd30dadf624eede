// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneTestSupport

extension Question {
  static let kind = "kind.shouldStop"
  static let firm = "firm.shouldStop"
  static let held = "held.shouldStop"
}

final class Judge: Delegate {
  let connection: Connection

  init(connection: Connection) { self.connection = connection }

  func attach(as name: String) async throws {
    try await connection.attach(self, to: name, respondingTo: [Question.kind, Question.firm], label: name)
  }

  func answer(_ question: Question) async throws -> Answer {
    question.name == Question.kind ? .approve : .veto("always")
  }
}

final class Asker: Sendable {
  let name: String
  let connection: Connection

  init(name: String, connection: Connection) {
    self.name = name
    self.connection = connection
  }

  func ask(seed: UInt64, _ size: Crowd.Size, _ account: Account, until stopping: Flag) async {
    var random = SplitMix64(seed: seed)
    var asked = 0
    let over = connection.over
    while !stopping.isRaised, !over.isRaised {
      let question = [Question.kind, Question.firm, Question.held][Int.random(in: 0..<3, using: &random)]
      let side = random.oneIn(2) ? "inside" : "outside"
      let count = question == Question.held ? size.holders : size.delegates
      let object = "\(side)-\(Int.random(in: 0..<count, using: &random))"
      do {
        let verdict = try await connection.ask(question, object: object)
        asked += 1
        await account.progress()
        if verdict.isAllowed != (question == Question.kind) || verdict.isUnanswered {
          let outcomes = verdict.outcomes.map { "\($0.kind) \($0.reason)" }.joined(separator: ", ")
          await account.write("wrong \(question) \(object) \(verdict.decision): \(outcomes)")
        }
      } catch {
        await account.write("broken \(name) \(error)")
        if error.code != .connectionLost { break }
      }
    }
    await account.asked(asked)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

struct ChainCase: Sendable, CustomTestStringConvertible {
  enum Reply: Equatable, Sendable {
    case value(String)
    case approve, veto, abstain, fail
    case silent, leave, detach
  }

  let mode: QueryMode
  let fallback: VerdictKind
  /// In chain order.
  let replies: [Reply]
  /// Indices of delegates with the failure policy *abstain*.
  let abstaining: Set<Int>
  let asked: [UInt64]
  let verdict: String

  init(
    _ mode: QueryMode, _ replies: [Reply], fallback: VerdictKind = .allowed, abstaining: Set<Int> = [],
    asked: [UInt64]? = nil, _ verdict: String
  ) {
    self.mode = mode
    self.replies = replies
    self.fallback = fallback
    self.abstaining = abstaining
    self.asked = asked ?? (0..<replies.count).map { UInt64($0 + 1) }
    self.verdict = verdict
  }

  var concluded: [String] {
    let ending = verdict.hasPrefix("allowed") ? "allowed" : "vetoed"
    return asked.filter { ![.leave, .detach].contains(replies[Int($0) - 1]) }
      .map { "\(ConnectionSlot(index: Int($0)).letter) concluded 7 q1 d\($0) \(ending)" }
  }

  var testDescription: String { "\(mode), \(fallback), \(replies), \(abstaining): \(verdict)" }
}

extension BusUnderTest {
  func run(_ example: ChainCase, fallback: VerdictKind? = nil) -> [Question] {
    let asker = connect()
    for index in example.replies.indices {
      let policy: FailurePolicy = example.abstaining.contains(index) ? .abstain : .veto
      attach(["x", "shouldX"], to: "o", by: connect(), serial: 7, policy: policy)
    }
    _ = take()
    ask(
      example.mode.name, object: "o", by: asker, serial: 5, mode: example.mode,
      fallback: fallback ?? example.fallback,
      text: "{}")
    var asked: [Question] = []
    var next = takeQuestions()
    repeat {
      for (slot, question) in next {
        asked.append(question)
        reply(example.replies[slot.index - 1], to: question, from: slot)
      }
      next = takeQuestions()
      if next.isEmpty, advanceToNextDeadline() { next = takeQuestions() }
    } while !next.isEmpty || nextDeadline != nil
    return asked
  }

  /// The bus refuses a reply to a query that a veto has ended.
  private func reply(_ reply: ChainCase.Reply, to question: Question, from slot: ConnectionSlot) {
    let delegate = question.delegate.rawValue
    switch reply {
    case .value(let value): answer(.value, value, delegate: delegate, from: slot)
    case .approve: answer(.approve, delegate: delegate, from: slot)
    case .veto: answer(.veto, "no \(delegate)", delegate: delegate, from: slot)
    case .abstain: answer(.abstain, delegate: delegate, from: slot)
    case .fail: answer(.failed, "broken \(delegate)", delegate: delegate, from: slot)
    case .silent: break
    case .leave: disconnect(slot)
    case .detach: cancel(7, by: slot)
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

/// A query, how the delegates in its chain reply, and its verdict.
struct ChainCase: Sendable, CustomTestStringConvertible {
  enum Reply: Equatable, Sendable {
    case value(String)
    case approve, veto, abstain, fail
    case silent, leave, detach
  }

  let mode: QueryMode
  let fallback: VerdictKind
  /// In the order of the chain.
  let replies: [Reply]
  /// Indices of the delegates whose failure policy is *abstain*.
  let abstaining: Set<Int>
  /// Ids of the delegates that are asked.
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

  /// The transcript of the `concluded` frames, for the delegates that were asked and stayed.
  var concluded: [String] {
    let ending = verdict.hasPrefix("allowed") ? "allowed" : "vetoed"
    return asked.filter { ![.leave, .detach].contains(replies[Int($0) - 1]) }
      .map { "\(ConnectionSlot(index: Int($0)).letter) concluded 7 q1 d\($0) \(ending)" }
  }

  var testDescription: String { "\(mode), \(fallback), \(replies), \(abstaining): \(verdict)" }
}

extension BusUnderTest {
  /// Asks from connection A, and lets the delegates B, C … reply until nothing is due.
  func run(_ example: ChainCase, fallback: VerdictKind? = nil) -> [Question] {
    let asker = connect()
    for index in example.replies.indices {
      let policy: FailurePolicy = example.abstaining.contains(index) ? .abstain : .veto
      attach(["x"], to: "o", by: connect(), serial: 7, policy: policy)
    }
    _ = take()
    ask(
      "x", object: "o", by: asker, serial: 5, mode: example.mode, fallback: fallback ?? example.fallback,
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

  /// The bus refuses the reply if a veto has ended the query before.
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

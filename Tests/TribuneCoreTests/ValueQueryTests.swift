// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Value queries", .timeLimit(.minutes(15)))
struct ValueQueryTests {
  private let bus = BusUnderTest()

  /// What a data source does when it is asked.
  enum Reply: Sendable {
    case value(String)
    case approve, veto, abstain, fail
    case silent, leave, detach
  }

  /// A chain, what its data sources do, and what must come of it.
  struct Case: Sendable, CustomTestStringConvertible {
    let mode: QueryMode
    let replies: [Reply]
    /// Of all of them, which must make no difference.
    let policy: FailurePolicy
    /// The data sources that were put a question.
    let asked: Int
    let verdict: String

    init(
      _ mode: QueryMode, _ replies: [Reply], policy: FailurePolicy = .veto, asked: Int? = nil,
      _ verdict: String
    ) {
      self.mode = mode
      self.replies = replies
      self.policy = policy
      self.asked = asked ?? replies.count
      self.verdict = verdict
    }

    var testDescription: String { "\(mode), \(policy), \(replies): \(verdict)" }
  }

  static let first: [Case] = [
    Case(.first, [], "vetoed?"),
    Case(.first, [.value("1")], "allowed: d1 answered (1)"),
    Case(.first, [.value("1"), .value("2")], asked: 1, "allowed: d1 answered (1)"),
    Case(.first, [.abstain, .value("2"), .value("3")], asked: 2, "allowed: d1 abstained, d2 answered (2)"),
    Case(.first, [.approve, .value("2")], "allowed: d1 approved, d2 answered (2)"),
    Case(.first, [.approve], "vetoed?: d1 approved"),
    Case(.first, [.veto, .value("2")], "allowed: d1 vetoed (no 1), d2 answered (2)"),
    Case(.first, [.veto], "vetoed?: d1 vetoed (no 1)"),
    Case(.first, [.fail, .value("2")], "allowed: d1 failed (broken 1), d2 answered (2)"),
    Case(.first, [.fail, .value("2")], policy: .abstain, "allowed: d1 failed (broken 1), d2 answered (2)"),
    Case(.first, [.silent, .value("2")], "allowed: d1 timedOut, d2 answered (2)"),
    Case(.first, [.leave, .value("2")], "allowed: d1 gone, d2 answered (2)"),
    Case(.first, [.detach, .value("2")], "allowed: d1 gone, d2 answered (2)"),
    Case(
      .first, [.abstain, .silent, .leave, .fail, .detach],
      "vetoed?: d1 abstained, d2 timedOut, d3 gone, d4 failed (broken 4), d5 gone"),
  ]

  static let collect: [Case] = [
    Case(.collect, [], "vetoed?"),
    Case(.collect, [.value("1"), .value("2")], "allowed: d1 answered (1), d2 answered (2)"),
    Case(.collect, [.abstain, .value("2")], "allowed: d1 abstained, d2 answered (2)"),
    Case(.collect, [.approve, .veto], "vetoed?: d1 approved, d2 vetoed (no 2)"),
    Case(.collect, [.veto, .value("2")], "allowed: d1 vetoed (no 1), d2 answered (2)"),
    Case(
      .collect, [.value("1"), .silent, .value("3"), .leave, .fail, .detach],
      "allowed: d1 answered (1), d2 timedOut, d3 answered (3), d4 gone, d5 failed (broken 5), d6 gone"),
    Case(.collect, [.silent, .silent], policy: .abstain, "vetoed?: d1 timedOut, d2 timedOut"),
  ]

  @Test(
    "Come to the values of the chain: who has none does not end them", arguments: first + collect,
    [VerdictKind.allowed, .vetoed])
  func reply(_ example: Case, _ fallback: VerdictKind) {
    let asker = bus.connect()
    for _ in example.replies {
      bus.attach(["x"], to: "o", by: bus.connect(), serial: 7, policy: example.policy)
    }
    _ = bus.take()
    bus.ask("x", object: "o", by: asker, serial: 5, mode: example.mode, fallback: fallback, text: "{}")
    var asked = 0
    var next = bus.takeQuestions()
    repeat {
      for (slot, question) in next {
        #expect(question.wantsValue && !question.isDryRun)
        asked += 1
        Self.reply(example.replies[slot.index - 1], to: question, from: slot, on: bus)
      }
      next = bus.takeQuestions()
      if next.isEmpty, bus.queryCount > 0 {
        #expect(bus.advanceToNextDeadline())
        next = bus.takeQuestions()
      }
    } while !next.isEmpty
    #expect(asked == example.asked)
    #expect(bus.lastVerdict?.summary == example.verdict)
    #expect(bus.queryCount == 0 && bus.nextDeadline == nil)
    #expect(bus.verdictCounts == [0, 0], "a value is no verdict")
  }

  private static func reply(
    _ reply: Reply, to question: Question, from slot: ConnectionSlot, on bus: BusUnderTest
  ) {
    let delegate = question.delegate.rawValue
    switch reply {
    case .value(let value): bus.answer(.value, value, delegate: delegate, from: slot)
    case .approve: bus.answer(.approve, delegate: delegate, from: slot)
    case .veto: bus.answer(.veto, "no \(delegate)", delegate: delegate, from: slot)
    case .abstain: bus.answer(.abstain, delegate: delegate, from: slot)
    case .fail: bus.answer(.failed, "broken \(delegate)", delegate: delegate, from: slot)
    case .silent: break
    case .leave: bus.disconnect(slot)
    case .detach: bus.cancel(7, by: slot)
    }
  }

  @Test("Each data source down the chain is put what the asker sent", arguments: ["", #"{"page": 2}"#])
  func userInfo(_ text: String) {
    let (asker, source) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: source, serial: 1)
    bus.attach(["x"], by: source, serial: 2, label: "second")
    _ = bus.take()
    bus.ask("x", object: "o", by: asker, serial: 5, mode: .first, text: text)
    #expect(bus.take() == ["B question 1 q1 d1 5000ms xo\(text)"])
    bus.answer(.abstain, delegate: 1, from: source)
    #expect(bus.take() == ["B question 2 q1 d2 5000ms xo\(text)"])
  }

  @Test(
    "A value is bytes as they are, an empty one as well", arguments: [[], [0x00, 0xFF, 0x80]] as [[UInt8]])
  func bytes(_ value: [UInt8]) throws {
    let (asker, source) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: source, serial: 1)
    bus.ask("x", by: asker, serial: 5, mode: .first)
    let frame = ByteBuffer(capacity: 0)
    frame.appendFrame(
      Answer(query: QueryID(rawValue: 1), delegate: DelegateID(rawValue: 1), answer: .value), serial: 9,
      payload: value.raw)
    bus.send(frame, from: source)
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.outcomes.map(\.outcome) == [.answered] && verdict.outcomes.map(\.value) == [value])
    #expect(verdict.verdict == .allowed && !verdict.isUnanswered)
  }

  @Test("Who was asked learns whether there was a value")
  func concluded() {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1)
    bus.attach(["x"], by: other, serial: 1)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 5, mode: .collect)
    bus.answer(.value, "7", delegate: 1, from: one)
    _ = bus.take()
    bus.answer(.abstain, delegate: 2, from: other)
    #expect(
      bus.take() == [
        "A verdict 5 q1 allowed: d1 answered (7), d2 abstained", "B concluded 1 q1 d1 allowed",
        "C concluded 1 q1 d2 allowed",
      ])
    bus.ask("x", by: asker, serial: 6, mode: .first)
    bus.answer(.abstain, query: 2, delegate: 1, from: one)
    _ = bus.take()
    bus.answer(.abstain, query: 2, delegate: 2, from: other)
    #expect(
      bus.take() == [
        "A verdict 6 q2 vetoed?: d1 abstained, d2 abstained", "B concluded 1 q2 d1 vetoed",
        "C concluded 1 q2 d2 vetoed",
      ])
  }

  @Test("A value where leave is asked has failed, and the policy decides", arguments: QueryMode.leave)
  func valueForLeave(_ mode: QueryMode) {
    for (policy, verdict) in [(FailurePolicy.veto, VerdictKind.vetoed), (.abstain, .allowed)] {
      let bus = BusUnderTest()
      let (asker, source) = (bus.connect(), bus.connect())
      bus.attach(["x"], by: source, serial: 1, policy: policy)
      bus.ask("x", by: asker, serial: 5, mode: mode)
      bus.answer(.value, "7", delegate: 1, from: source)
      #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.failed])
      #expect(bus.lastVerdict?.outcomes.map(\.value) == [[]])
      #expect(bus.lastVerdict?.verdict == verdict)
    }
  }

  @Test("A reason for which there is no room is left out, and the veto stays")
  func reasonsAreBounded() {
    let bus = BusUnderTest { $0.answersMax = 10 }
    let (asker, delegate) = (bus.connect(), bus.connect())
    for label in 1...2 { bus.attach(["x"], by: delegate, serial: Serial(label), label: "\(label)") }
    for serial in 5...6 {
      bus.ask("x", by: asker, serial: Serial(serial), mode: .all)
      let query = UInt64(serial - 4)
      bus.answer(.veto, "12345678", query: query, delegate: 1, from: delegate)
      bus.answer(.veto, "123", query: query, delegate: 2, from: delegate)
      // The second query finds all the room that the first had.
      #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.vetoed, .vetoed])
      #expect(bus.lastVerdict?.outcomes.first?.reason == "12345678")
      #expect(bus.lastVerdict?.outcomes.last?.reason.hasPrefix("the answers for one asker") == true)
    }
  }

  @Test("What one connection is given is bounded over all its queries, and comes free with each")
  func bounds() {
    let bus = BusUnderTest { $0.answersMax = 10 }
    let (asker, other, source) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: source, serial: 1, label: "one")
    bus.attach(["x"], by: source, serial: 2, label: "two")
    bus.ask("x", by: asker, serial: 5, mode: .collect)
    bus.ask("x", by: asker, serial: 6, mode: .collect)
    bus.ask("x", by: other, serial: 5, mode: .collect)
    _ = bus.take()
    bus.answer(.value, "123456", query: 1, delegate: 1, from: source)
    bus.answer(.value, "1234", query: 2, delegate: 1, from: source)
    bus.answer(.value, "1234567890", query: 3, delegate: 1, from: source)
    #expect(bus.take().isEmpty)
    // Over by one byte, in either query, and for another asker not at all.
    bus.answer(.value, "1", query: 2, delegate: 2, from: source)
    #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered, .failed])
    #expect(bus.lastVerdict?.outcomes.map(\.value.count) == [4, 0])
    // The second query has given its four bytes back.
    bus.answer(.value, "1234", query: 1, delegate: 2, from: source)
    #expect(bus.lastVerdict?.outcomes.map(\.outcome) == [.answered, .answered])
    bus.cancel(5, by: other)
    bus.ask("x", by: other, serial: 6, mode: .first)
    bus.answer(.value, "1234567890", query: 4, delegate: 1, from: source)
    #expect(bus.lastVerdict?.outcomes.map(\.value.count) == [10])
    for slot in [asker, other, source] { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test("A data source that goes on after the value is too late")
  func late() {
    let (asker, source) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: source, serial: 1)
    bus.ask("x", by: asker, serial: 5, mode: .first)
    bus.answer(.value, "1", delegate: 1, from: source)
    _ = bus.take()
    bus.answer(.value, "2", delegate: 1, from: source)
    bus.deferAnswer(1000, delegate: 1, from: source)
    #expect(bus.take() == ["B refused 900 notAsked", "B refused 901 notAsked"])
    #expect(bus.lastVerdict?.outcomes.map(\.value) == [Array("1".utf8)])
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Queries", .timeLimit(.minutes(15)))
struct QueryTests {
  private let bus = BusUnderTest()

  /// What a delegate does when it is asked.
  enum Reply: Sendable {
    case approve, veto, abstain, fail
    case silent
    case leave, detach
  }

  /// A chain, what its delegates do, and what must come of it.
  struct Case: Sendable, CustomTestStringConvertible {
    var mode = QueryMode.parallel
    var fallback = VerdictKind.allowed
    /// In the chain's order; `abstaining` have the failure policy *abstain*.
    let replies: [Reply]
    var abstaining: Set<Int> = []
    let verdict: String
    /// The delegates that were put a question.
    let asked: [UInt64]

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

    var testDescription: String { "\(mode), \(fallback), \(replies), \(abstaining): \(verdict)" }
  }

  static let parallel: [Case] = [
    Case(.parallel, [], "allowed?"),
    Case(.parallel, [], fallback: .vetoed, "vetoed?"),
    Case(.parallel, [.approve], "allowed: d1 approved"),
    Case(.parallel, [.approve], fallback: .vetoed, "allowed: d1 approved"),
    Case(.parallel, [.veto], "vetoed: d1 vetoed (no 1)"),
    Case(.parallel, [.abstain], "allowed?: d1 abstained"),
    Case(.parallel, [.abstain], fallback: .vetoed, "vetoed?: d1 abstained"),
    Case(.parallel, [.abstain, .approve], fallback: .vetoed, "allowed: d1 abstained, d2 approved"),
    Case(.parallel, [.approve, .approve, .approve], "allowed: d1 approved, d2 approved, d3 approved"),
    Case(.parallel, [.approve, .veto, .approve], "vetoed: d1 approved, d2 vetoed (no 2)"),
    Case(.parallel, [.veto, .veto], "vetoed: d1 vetoed (no 1)"),
    Case(.parallel, [.silent], "vetoed: d1 timedOut"),
    Case(.parallel, [.silent], abstaining: [0], "allowed?: d1 timedOut"),
    Case(.parallel, [.silent], fallback: .vetoed, abstaining: [0], "vetoed?: d1 timedOut"),
    Case(.parallel, [.silent, .approve], abstaining: [0], "allowed: d1 timedOut, d2 approved"),
    Case(.parallel, [.silent, .silent], "vetoed: d1 timedOut, d2 timedOut"),
    Case(.parallel, [.silent, .veto], "vetoed: d2 vetoed (no 2)"),
    Case(.parallel, [.fail], "vetoed: d1 failed (broken 1)"),
    Case(.parallel, [.fail, .approve], abstaining: [0], "allowed: d1 failed (broken 1), d2 approved"),
    Case(.parallel, [.fail], abstaining: [0], "allowed?: d1 failed (broken 1)"),
    Case(.parallel, [.leave], "vetoed: d1 gone"),
    Case(.parallel, [.leave, .approve], abstaining: [0], "allowed: d1 gone, d2 approved"),
    Case(.parallel, [.detach], "vetoed: d1 gone"),
    Case(.parallel, [.leave, .silent], "vetoed: d1 gone"),
    Case(.parallel, [.detach, .silent], "vetoed: d1 gone"),
    Case(.parallel, [.detach, .abstain], abstaining: [0], "allowed?: d1 gone, d2 abstained"),
    Case(.parallel, [.veto], fallback: .vetoed, abstaining: [0], "vetoed: d1 vetoed (no 1)"),
  ]

  static let all: [Case] = [
    Case(.all, [], "allowed?"),
    Case(.all, [.approve, .approve], "allowed: d1 approved, d2 approved"),
    Case(.all, [.veto, .approve, .veto], "vetoed: d1 vetoed (no 1), d2 approved, d3 vetoed (no 3)"),
    Case(.all, [.veto, .silent], "vetoed: d1 vetoed (no 1), d2 timedOut"),
    Case(.all, [.veto, .silent], abstaining: [1], "vetoed: d1 vetoed (no 1), d2 timedOut"),
    Case(.all, [.fail, .leave, .detach], "vetoed: d1 failed (broken 1), d2 gone, d3 gone"),
    Case(
      .all, [.fail, .leave, .detach, .silent], fallback: .vetoed, abstaining: [0, 1, 2, 3],
      "vetoed?: d1 failed (broken 1), d2 gone, d3 gone, d4 timedOut"),
    Case(.all, [.abstain, .abstain], "allowed?: d1 abstained, d2 abstained"),
    Case(.all, [.silent, .approve], abstaining: [0], "allowed: d1 timedOut, d2 approved"),
  ]

  static let inOrder: [Case] = [
    Case(.order, [], fallback: .vetoed, "vetoed?"),
    Case(.order, [.approve, .approve], "allowed: d1 approved, d2 approved"),
    Case(.order, [.veto, .approve], asked: [1], "vetoed: d1 vetoed (no 1)"),
    Case(.order, [.approve, .veto, .approve], asked: [1, 2], "vetoed: d1 approved, d2 vetoed (no 2)"),
    Case(.order, [.abstain, .abstain, .approve], "allowed: d1 abstained, d2 abstained, d3 approved"),
    Case(.order, [.silent, .approve], asked: [1], "vetoed: d1 timedOut"),
    Case(.order, [.silent, .approve], abstaining: [0], "allowed: d1 timedOut, d2 approved"),
    Case(.order, [.fail, .approve], asked: [1], "vetoed: d1 failed (broken 1)"),
    Case(.order, [.fail, .veto], abstaining: [0], "vetoed: d1 failed (broken 1), d2 vetoed (no 2)"),
    Case(.order, [.leave, .approve], asked: [1], "vetoed: d1 gone"),
    Case(.order, [.leave, .approve], abstaining: [0], "allowed: d1 gone, d2 approved"),
    Case(.order, [.detach, .approve], abstaining: [0], "allowed: d1 gone, d2 approved"),
    Case(
      .order, [.abstain, .silent], fallback: .vetoed, abstaining: [1], "vetoed?: d1 abstained, d2 timedOut"),
  ]

  @Test("Come to the verdict that the chain's answers make", arguments: parallel + all + inOrder)
  func verdict(_ example: Case) {
    let asker = bus.connect()
    var slots: [ConnectionSlot] = []
    for index in example.replies.indices {
      let slot = bus.connect()
      slots.append(slot)
      let policy: FailurePolicy = example.abstaining.contains(index) ? .abstain : .veto
      bus.attach(["x"], to: "o", by: slot, serial: 7, policy: policy)
    }
    _ = bus.take()
    bus.ask("x", object: "o", by: asker, serial: 5, mode: example.mode, fallback: example.fallback)
    var asked: [UInt64] = []
    var next = bus.takeQuestions()
    repeat {
      for (slot, question) in next {
        asked.append(question.delegate.rawValue)
        Self.reply(example.replies[slot.index - 1], to: question, from: slot, on: bus)
      }
      next = bus.takeQuestions()
      if next.isEmpty, bus.advanceToNextDeadline() { next = bus.takeQuestions() }
    } while !next.isEmpty || bus.nextDeadline != nil

    let transcript = bus.take()
    #expect(transcript.filter { $0.contains("verdict") } == ["A verdict 5 q1 \(example.verdict)"])
    #expect(asked == example.asked)
    let ending = example.verdict.hasPrefix("allowed") ? "allowed" : "vetoed"
    let stayed = asked.filter { ![.leave, .detach].contains(example.replies[Int($0) - 1]) }
    let concluded = stayed.map { "\(slots[Int($0) - 1].letter) concluded 7 q1 d\($0) \(ending)" }
    #expect(transcript.filter { $0.contains("concluded") } == concluded)
    #expect(bus.queryCount == 0)
    #expect(bus.nextDeadline == nil)
  }

  private static func reply(
    _ reply: Reply, to question: Question, from slot: ConnectionSlot, on bus: BusUnderTest
  ) {
    let (query, delegate) = (question.query.rawValue, question.delegate.rawValue)
    switch reply {
    // One that comes too late in this table was cancelled by a veto before it.
    case .approve: bus.answer(.approve, query: query, delegate: delegate, from: slot)
    case .veto: bus.answer(.veto, "no \(delegate)", query: query, delegate: delegate, from: slot)
    case .abstain: bus.answer(.abstain, query: query, delegate: delegate, from: slot)
    case .fail: bus.answer(.failed, "broken \(delegate)", query: query, delegate: delegate, from: slot)
    case .silent: return
    case .leave: bus.disconnect(slot)
    case .detach: bus.cancel(7, by: slot)
    }
  }

  @Test("A question says who asks, carries the asker's frame, and the time that the delegate has")
  func question() throws {
    let (asker, delegate) = (bus.connect(pid: 42), bus.connect())
    bus.attach(["x.*"], to: "o", by: delegate, serial: 3, timeout: 700)
    _ = bus.take()
    bus.ask("x.y", object: "o", by: asker, serial: 5, text: "{}")
    let question = try #require(bus.takeQuestions().first?.question)
    #expect(question.asker.pid == 42 && question.asker.unit == "test.service")
    #expect(bus.take() == ["B question 3 q1 d1 700ms x.yo{}"])
  }

  @Test("In order, the later ones too are put what the asker sent", arguments: ["", "{\"force\": true}"])
  func laterQuestions(_ text: String) {
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], to: "o", by: delegate, serial: 1)
    bus.attach(["*"], to: "o", by: delegate, serial: 2)
    _ = bus.take()
    bus.ask("x", object: "o", by: asker, serial: 5, mode: .order, text: text)
    #expect(bus.take() == ["B question 1 q1 d1 5000ms xo\(text)"])
    // Other queries come and go meanwhile.
    bus.ask("y.z", by: asker, serial: 6, mode: .order, text: "something else")
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: delegate)
    #expect(bus.take() == ["B question 2 q1 d2 5000ms xo\(text)"])
  }

  @Test(
    "The set of delegates is that of the moment of asking", arguments: [QueryMode.parallel, .all, .order])
  func snapshot(mode: QueryMode) {
    let (asker, one, late) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], to: "o", by: one, serial: 1)
    bus.ask("x", object: "o", by: asker, serial: 5, mode: mode)
    bus.attach(["x"], to: "o", by: late, serial: 1, order: 1)
    _ = bus.take()
    bus.answer(.approve, delegate: 1, from: one)
    #expect(bus.take() == ["A verdict 5 q1 allowed: d1 approved", "B concluded 1 q1 d1 allowed"])
  }

  @Test("A veto is sticky: nothing that comes later lifts it")
  func stickyVeto() {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1)
    bus.attach(["x"], by: other, serial: 1)
    bus.ask("x", by: asker, serial: 5, mode: .all)
    _ = bus.take()
    bus.answer(.veto, "no", delegate: 1, from: one)
    bus.answer(.approve, delegate: 1, from: one)
    bus.deferAnswer(1000, delegate: 1, from: one)
    #expect(bus.take() == ["B refused 900 notAsked", "B refused 901 notAsked"])
    bus.answer(.approve, delegate: 2, from: other)
    #expect(
      bus.take() == [
        "A verdict 5 q1 vetoed: d1 vetoed (no), d2 approved", "B concluded 1 q1 d1 vetoed",
        "C concluded 1 q1 d2 vetoed",
      ])
  }

  @Test("Several queries of one asker go on side by side, each to its own verdict")
  func multiplexing() {
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    for serial in 5...7 { bus.ask("x", by: asker, serial: Serial(serial)) }
    _ = bus.take()
    bus.answer(.veto, "no", query: 2, delegate: 1, from: delegate)
    bus.answer(.approve, query: 3, delegate: 1, from: delegate)
    bus.answer(.abstain, query: 1, delegate: 1, from: delegate)
    #expect(
      bus.take().filter { $0.contains("verdict") } == [
        "A verdict 6 q2 vetoed: d1 vetoed (no)", "A verdict 7 q3 allowed: d1 approved",
        "A verdict 5 q1 allowed?: d1 abstained",
      ])
    #expect(bus.verdictCounts == [3, 1])
  }

  @Test("A connection that asks may be a delegate too, and may ask while it is asked")
  func askingItself() {
    let slot = bus.connect()
    bus.attach(["x", "y"], by: slot, serial: 1)
    bus.ask("x", by: slot, serial: 5)
    bus.ask("y", by: slot, serial: 6)
    _ = bus.take()
    bus.answer(.approve, query: 2, delegate: 1, from: slot)
    bus.answer(.approve, query: 1, delegate: 1, from: slot)
    #expect(
      bus.take() == [
        "A verdict 6 q2 allowed: d1 approved", "A concluded 1 q2 d1 allowed",
        "A verdict 5 q1 allowed: d1 approved", "A concluded 1 q1 d1 allowed",
      ])
  }

  @Test("A reason is cut at 4,096 bytes, between two characters, and repaired")
  func longReason() throws {
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    bus.ask("x", by: asker, serial: 5)
    _ = bus.take()
    bus.answer(.veto, "a" + String(repeating: "ü", count: 3000), delegate: 1, from: delegate)
    let verdict = try #require(bus.take().first)
    #expect(verdict.hasPrefix("A verdict 5 q1 vetoed: d1 vetoed (aüüü"))
    #expect(verdict.utf8.count <= "A verdict 5 q1 vetoed: d1 vetoed ()".utf8.count + WireLimits.reasonLength)
    #expect(verdict.hasSuffix("ü)") || verdict.hasSuffix("ü\u{FFFD})"))
  }

  @Test("Each outcome says how long it took")
  func elapsed() throws {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1)
    bus.attach(["x"], by: other, serial: 1)
    bus.ask("x", by: asker, serial: 5, mode: .order)
    bus.advance(milliseconds: 20)
    bus.answer(.approve, delegate: 1, from: one)
    bus.advance(milliseconds: 300)
    let verdict = try #require(bus.verdict { bus.answer(.approve, delegate: 2, from: other) })
    #expect(verdict.outcomes.map(\.elapsed) == [20_000, 300_000])
  }

  @Test(
    "A wrong query is refused, and is none",
    arguments: [
      ("", "", 0, .invalidName), ("a..b", "", 0, .invalidName), ("a.*", "", 0, .invalidName),
      ("a", "\n", 0, .invalidObject), ("tribune.shouldStop", "", 0, .reservedName),
      ("a", "", 3_600_001, .invalidValue), ("a", "", .max, .invalidValue),
    ] as [(String, String, UInt32, ErrorCode)])
  func refused(_ name: String, _ object: String, _ deadline: UInt32, _ code: ErrorCode) {
    bus.ask(name, object: object, by: bus.connect(), serial: 5, deadline: deadline)
    #expect(bus.take() == ["A refused 5 \(code)"])
    #expect(bus.isEmpty)
  }

  @Test("A connection has so many queries under way, and room again when one is over")
  func limit() {
    let bus = BusUnderTest { $0.queriesMax = 2 }
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    _ = bus.take()
    for serial in 5...7 { bus.ask("x", by: asker, serial: Serial(serial)) }
    #expect(bus.take().last == "A refused 7 limitExceeded")
    bus.answer(.approve, delegate: 1, from: delegate)
    bus.ask("x", by: asker, serial: 7)
    #expect(bus.take().last == "B question 1 q3 d1 5000ms x")
  }

  @Test("The queries of a connection are put to so many delegates in all, and to others when one is over")
  func participantLimit() {
    let bus = BusUnderTest { $0.participantsMax = 3 }
    let (asker, other, delegate) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x", "y"], by: delegate, serial: 1)
    bus.attach(["x"], by: delegate, serial: 2)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 5)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 6)
    #expect(bus.take() == ["A refused 6 limitExceeded"])
    bus.ask("y", by: asker, serial: 7)
    bus.ask("x", by: other, serial: 5)
    #expect(bus.take().count == 3)
    #expect(bus.queryCount == 3)
    bus.cancel(5, by: asker)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 8)
    #expect(bus.take().count == 2)
    for slot in [asker, other, delegate] { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test(
    "What is kept to be asked later is bounded, and comes free with its query",
    arguments: [QueryMode.order, .first])
  func keptUserInfo(_ mode: QueryMode) {
    let bus = BusUnderTest { $0.questionsMax = 10 }
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x", "y"], by: delegate, serial: 1)
    bus.attach(["x"], by: delegate, serial: 2)
    _ = bus.take()
    // One by itself may be as long as a frame can.
    bus.ask("x", by: asker, serial: 5, mode: mode, text: "01234567890")
    bus.ask("x", by: asker, serial: 6, mode: mode, text: "0")
    // Nothing is kept of what is asked at once, or of one delegate alone.
    bus.ask("x", by: asker, serial: 7, mode: .all, text: "01234567890")
    bus.ask("y", by: asker, serial: 8, mode: mode, text: "01234567890")
    #expect(bus.take().filter { $0.hasPrefix("A") } == ["A refused 6 limitExceeded"])
    bus.cancel(5, by: asker)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 9, mode: mode, text: "012345")
    bus.ask("x", by: asker, serial: 10, mode: mode, text: "0123")
    bus.ask("x", by: asker, serial: 11, mode: mode, text: "0")
    #expect(bus.take().filter { $0.hasPrefix("A") } == ["A refused 11 limitExceeded"])
    for slot in [asker, delegate] { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test("A frame whose fields end early ends the connection")
  func malformed() throws {
    let slot = bus.connect()
    for kind in [FrameKind.ask, .attach, .answer, .defer, .cancel] {
      let frame = ByteBuffer(capacity: 0)
      FrameHeader(kind: kind, serial: 1).append(to: frame)
      #expect(bus.send(frame, from: slot)?.code == .malformedFrame)
    }
    #expect(bus.take().isEmpty)
  }
}

extension BusUnderTest {
  /// The verdict that `event` brings.
  func verdict(_ event: () -> Void) -> Verdict? {
    lastVerdict = nil
    event()
    return lastVerdict
  }
}

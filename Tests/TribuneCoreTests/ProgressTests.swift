// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Progress and deferrals", .timeLimit(.minutes(15)))
struct ProgressTests {
  private let bus = BusUnderTest()

  @Test("An asker that wants it hears of each that is asked, and of what came of it")
  func stages() {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1)
    bus.attach(["x"], by: other, serial: 1, timeout: 300)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 5, mode: .all, flags: .tellsProgress)
    #expect(
      bus.take() == [
        "B question 1 q1 d1 5000ms x", "A progress 5 q1 d1 asked 5000ms ", "C question 1 q1 d2 300ms x",
        "A progress 5 q1 d2 asked 300ms ",
      ])
    bus.deferAnswer(6000, "busy", delegate: 1, from: one)
    #expect(bus.take() == ["A progress 5 q1 d1 6000ms busy"])
    bus.advance(milliseconds: 300)
    #expect(bus.take() == ["A progress 5 q1 d2 timedOut "])
    bus.answer(.veto, "no", delegate: 1, from: one)
    #expect(
      bus.take() == [
        "A progress 5 q1 d1 vetoed no", "A verdict 5 q1 vetoed: d1 vetoed (no), d2 timedOut",
        "B concluded 1 q1 d1 vetoed", "C concluded 1 q1 d2 vetoed",
      ])
  }

  @Test("In order, it comes one at a time", arguments: [QueryMode.order, .first])
  func sequential(_ mode: QueryMode) {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1)
    bus.attach(["x"], by: other, serial: 1)
    _ = bus.take()
    bus.ask("x", by: asker, serial: 5, mode: mode, flags: .tellsProgress)
    #expect(bus.take().filter { $0.contains("progress") } == ["A progress 5 q1 d1 asked 5000ms "])
    bus.answer(.abstain, delegate: 1, from: one)
    #expect(
      bus.take().filter { $0.contains("progress") }.sorted() == [
        "A progress 5 q1 d1 abstained ", "A progress 5 q1 d2 asked 5000ms ",
      ])
    bus.disconnect(other)
    #expect(bus.take().first == "A progress 5 q1 d2 gone ")
    #expect(bus.queryCount == 0)
  }

  @Test("What an asker did not ask for it does not hear, but for deferrals", arguments: QueryMode.allCases)
  func unwanted(_ mode: QueryMode) {
    let (asker, one) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1)
    bus.ask("x", by: asker, serial: 5, mode: mode)
    bus.deferAnswer(6000, "busy", delegate: 1, from: one)
    bus.answer(.abstain, delegate: 1, from: one)
    #expect(bus.take().filter { $0.contains("progress") } == ["A progress 5 q1 d1 6000ms busy"])
  }

  // MARK: Deferrals by others

  /// Who defers for the delegates of user 1000, and what comes of it.
  struct Deferral: Sendable, CustomTestStringConvertible {
    var user: UInt32 = 1000
    /// Delegates that are waited for, one connection each.
    var delegates = 1
    /// Those of them that have answered.
    var answered: Set<UInt64> = []
    var delegate: UInt64 = 0
    var query: UInt64 = 1
    let outcome: String

    var testDescription: String {
      "user \(user), d\(delegate) of \(delegates), answered \(answered.sorted()), q\(query): \(outcome)"
    }
  }

  @Test(
    "What runs under a delegate defers for it: by its id, or for the only one of its user",
    arguments: [
      Deferral(outcome: "A progress 5 q1 d1 9000ms later"),
      Deferral(delegate: 1, outcome: "A progress 5 q1 d1 9000ms later"),
      Deferral(delegates: 2, outcome: "B refused 901 invalidValue"),
      Deferral(delegates: 2, delegate: 2, outcome: "A progress 5 q1 d2 9000ms later"),
      Deferral(delegates: 2, answered: [1], outcome: "A progress 5 q1 d2 9000ms later"),
      Deferral(delegates: 2, answered: [1], delegate: 1, outcome: "B refused 901 notAsked"),
      Deferral(user: 7, outcome: "B refused 901 notAsked"),
      Deferral(user: 7, delegate: 1, outcome: "B refused 901 notAsked"),
      Deferral(user: 0, outcome: "B refused 901 notAsked"),
      Deferral(user: 0, delegate: 1, outcome: "B refused 901 notAsked"),
      Deferral(delegate: 99, outcome: "B refused 901 notAsked"),
      Deferral(query: 2, outcome: "B refused 901 notAsked"),
      Deferral(delegate: 1, query: 2, outcome: "B refused 901 notAsked"),
      Deferral(query: 0, outcome: "B refused 901 notAsked"),
    ])
  func otherConnection(_ example: Deferral) {
    let (asker, under) = (bus.connect(), bus.connect(uid: example.user))
    var slots: [ConnectionSlot] = []
    for _ in 0..<example.delegates {
      slots.append(bus.connect(uid: 1000))
      bus.attach(["x"], by: slots[slots.count - 1], serial: 1)
    }
    bus.attach(["x"], by: bus.connect(uid: 8), serial: 1)
    bus.ask("x", by: asker, serial: 5, mode: .all)
    for delegate in example.answered.sorted() {
      bus.answer(.approve, delegate: delegate, from: slots[Int(delegate) - 1])
    }
    _ = bus.take()
    bus.deferAnswer(9000, "later", query: example.query, delegate: example.delegate, from: under)
    #expect(bus.take() == [example.outcome])
  }

  @Test("Delegate 0 is the only one of its user among all who are asked, if there are others of other users")
  func byUser() {
    let (asker, one, other) = (bus.connect(), bus.connect(uid: 1), bus.connect(uid: 2))
    bus.attach(["x"], by: one, serial: 1)
    bus.attach(["x"], by: other, serial: 1)
    bus.ask("x", by: asker, serial: 5)
    _ = bus.take()
    bus.deferAnswer(9000, "two", delegate: 0, from: other)
    bus.deferAnswer(9000, "one", delegate: 0, from: one)
    #expect(bus.take() == ["A progress 5 q1 d2 9000ms two", "A progress 5 q1 d1 9000ms one"])
    bus.advance(milliseconds: 8999)
    #expect(bus.take().isEmpty)
  }

  @Test(
    "A deferral by another connection gives time, and an answer by it is refused",
    arguments: AnswerKind.allCases)
  func answersAreItsOwn(_ answer: AnswerKind) {
    let (asker, delegate, under) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    bus.ask("x", by: asker, serial: 5)
    bus.deferAnswer(9000, delegate: 1, from: under)
    _ = bus.take()
    bus.answer(answer, "why", delegate: 1, from: under)
    bus.answer(answer, "why", delegate: 0, from: delegate)
    #expect(bus.take() == ["C refused 900 notAsked", "B refused 900 notAsked"])
    bus.advance(milliseconds: 8999)
    #expect(bus.take().isEmpty)
    bus.answer(.approve, delegate: 1, from: delegate)
    #expect(bus.take().first == "A verdict 5 q1 allowed: d1 approved")
  }

  @Test("Nobody defers past the asker's deadline")
  func bounded() {
    let (asker, delegate, under) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    bus.ask("x", by: asker, serial: 5, deadline: 7000)
    _ = bus.take()
    bus.deferAnswer(.max, "forever", delegate: 0, from: under)
    #expect(bus.take() == ["A progress 5 q1 d1 7000ms forever"])
    bus.advance(milliseconds: 7000)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 timedOut")
  }

  @Test("A deferral that wants to be acknowledged is, if it is taken", arguments: [(1, true), (9, false)])
  func acknowledged(_ query: UInt64, _ isTaken: Bool) {
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    bus.ask("x", by: asker, serial: 5)
    _ = bus.take()
    let frame = ByteBuffer(capacity: 0)
    frame.appendFrame(
      Defer(query: QueryID(rawValue: query), delegate: DelegateID(rawValue: 0), extension: 9000),
      flags: .acknowledge, serial: 8)
    bus.send(frame, from: delegate)
    #expect(
      bus.take() == (isTaken ? ["A progress 5 q1 d1 9000ms ", "B ok 8"] : ["B refused 8 notAsked"]))
  }
}

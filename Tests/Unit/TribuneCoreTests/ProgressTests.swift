// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Progress and deferrals", .timeLimit(.minutes(15)))
struct ProgressTests {
  private let bus = BusUnderTest()

  @Test("An asker that wants progress learns which delegates are asked, and their outcomes")
  func stages() {
    let (asker, one) = (bus.connect(), bus.connectDelegate("shouldX"))
    bus.connectDelegate("shouldX", timeout: 300)
    bus.ask("shouldX", by: asker, serial: 5, mode: .all, flags: .wantsProgress)
    bus.expect(
      "B question 1 q1 d1 5000ms shouldX", "A progress 5 q1 d1 asked 5000ms ",
      "C question 1 q1 d2 300ms shouldX",
      "A progress 5 q1 d2 asked 300ms ")
    bus.deferAnswer(6000, "busy", delegate: 1, from: one)
    bus.expect("A progress 5 q1 d1 6000ms busy")
    bus.advance(milliseconds: 300)
    bus.expect("A progress 5 q1 d2 timedOut ")
    bus.answer(.veto, "no", delegate: 1, from: one)
    bus.expect(
      "A progress 5 q1 d1 vetoed no", "A verdict 5 q1 vetoed: d1 vetoed (no), d2 timedOut",
      "B concluded 1 q1 d1 vetoed", "C concluded 1 q1 d2 vetoed")
  }

  @Test("In order, progress comes for one delegate after the other", arguments: [QueryMode.order, .first])
  func sequential(_ mode: QueryMode) {
    let (asker, one, other) = (
      bus.connect(), bus.connectDelegate("x", "shouldX"), bus.connectDelegate("x", "shouldX")
    )
    bus.ask(mode.name, by: asker, serial: 5, mode: mode, flags: .wantsProgress)
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

  struct Deferral: Sendable {
    var user: UInt32 = 1000
    var delegates = 1
    var answered: Set<UInt64> = []
    var delegate: UInt64 = 0
    var query: UInt64 = 1
    let outcome: String
  }

  @Test(
    "Other connections of a delegate's user can defer for it, by its id, or if it is the only one",
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
    let slots = (0..<example.delegates).map { _ in bus.connectDelegate("shouldX") }
    bus.connectDelegate("shouldX", uid: 8)
    bus.ask("shouldX", by: asker, serial: 5, mode: .all)
    for delegate in example.answered.sorted() {
      bus.answer(.approve, delegate: delegate, from: slots[Int(delegate) - 1])
    }
    _ = bus.take()
    bus.deferAnswer(9000, "later", query: example.query, delegate: example.delegate, from: under)
    #expect(bus.take() == [example.outcome])
  }

  @Test(
    "Another connection can defer for a delegate, but cannot answer for it",
    arguments: AnswerKind.allCases)
  func answersAreItsOwn(_ answer: AnswerKind) {
    let (asker, delegate, under) = (bus.connect(), bus.connectDelegate("shouldX"), bus.connect())
    bus.ask("shouldX", by: asker, serial: 5)
    bus.deferAnswer(9000, delegate: 1, from: under)
    _ = bus.take()
    bus.answer(answer, "why", delegate: 1, from: under)
    bus.answer(answer, "why", delegate: 0, from: delegate)
    bus.expect("C refused 900 notAsked", "B refused 900 notAsked")
    bus.advance(milliseconds: 8999)
    #expect(bus.take().isEmpty)
    bus.answer(.approve, delegate: 1, from: delegate)
    #expect(bus.take().first == "A verdict 5 q1 allowed: d1 approved")
  }

  @Test("An accepted deferral is acknowledged if it asks for that", arguments: [(1, true), (9, false)])
  func acknowledged(_ query: UInt64, _ isTaken: Bool) {
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX"))
    bus.ask("shouldX", by: asker, serial: 5)
    _ = bus.take()
    let later = Defer(query: QueryID(rawValue: query), delegate: DelegateID(rawValue: 0), extension: 9000)
    bus.send(later, flags: .acknowledge, from: delegate, serial: 8)
    #expect(bus.take() == (isTaken ? ["A progress 5 q1 d1 9000ms ", "B ok 8"] : ["B refused 8 notAsked"]))
  }
}

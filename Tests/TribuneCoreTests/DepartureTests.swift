// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Leaving in the middle", .timeLimit(.minutes(15)))
struct DepartureTests {
  /// An asker A, and delegates B and C for the name x.
  private func ask(
    mode: QueryMode = .parallel, policy: FailurePolicy = .veto
  ) -> (BusUnderTest, asker: ConnectionSlot, one: ConnectionSlot, other: ConnectionSlot) {
    let bus = BusUnderTest()
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], by: one, serial: 1, policy: policy)
    bus.attach(["x"], by: other, serial: 1, policy: policy)
    bus.ask("x", by: asker, serial: 5, mode: mode)
    _ = bus.take()
    return (bus, asker, one, other)
  }

  @Test("What a delegate said before it went counts")
  func goingAfterAnswer() {
    let (bus, _, one, other) = ask()
    bus.answer(.approve, delegate: 1, from: one)
    bus.disconnect(one)
    bus.answer(.approve, delegate: 2, from: other)
    #expect(
      bus.take() == ["A verdict 5 q1 allowed: d1 approved, d2 approved", "C concluded 1 q1 d2 allowed"])
  }

  @Test("In order, one that goes before its turn is gone when its turn comes")
  func goingBeforeTurn() {
    let (bus, _, one, other) = ask(mode: .order)
    bus.disconnect(other)
    #expect(bus.take().isEmpty)
    bus.answer(.approve, delegate: 1, from: one)
    #expect(
      bus.take() == ["A verdict 5 q1 vetoed: d1 approved, d2 gone", "B concluded 1 q1 d1 vetoed"])
  }

  @Test("A connection takes the answers of all its delegates with it, in every query")
  func manyAtOnce() {
    let bus = BusUnderTest()
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    bus.attach(["*"], by: delegate, serial: 2)
    bus.ask("x", by: asker, serial: 5, mode: .all)
    bus.ask("y", by: asker, serial: 6, mode: .all)
    bus.ask("x", by: asker, serial: 7, mode: .order)
    _ = bus.take()
    bus.disconnect(delegate)
    #expect(
      bus.take() == [
        "A verdict 5 q1 vetoed: d1 gone, d2 gone", "A verdict 6 q2 vetoed: d2 gone",
        "A verdict 7 q3 vetoed: d1 gone",
      ])
    #expect(bus.isEmpty)
  }

  @Test("An asker that takes its query back gets no verdict, and the delegates hear of it")
  func cancelling() {
    let (bus, asker, one, _) = ask()
    bus.answer(.approve, delegate: 1, from: one)
    bus.cancel(5, by: asker)
    #expect(
      bus.take() == [
        "A refused 5 cancelled", "B concluded 1 q1 d1 cancelled", "C concluded 1 q1 d2 cancelled", "A ok 902",
      ])
    #expect(bus.nextDeadline == nil && bus.queryCount == 0)
    bus.cancel(5, by: asker)
    #expect(bus.take() == ["A refused 902 notFound"])
  }

  @Test("In order, only those who were asked hear that a query was cancelled")
  func cancellingInOrder() {
    let (bus, asker, _, _) = ask(mode: .order)
    bus.cancel(5, by: asker)
    #expect(bus.take() == ["A refused 5 cancelled", "B concluded 1 q1 d1 cancelled", "A ok 902"])
  }

  @Test("A query cannot be taken back by somebody else")
  func cancellingAnothers() {
    let (bus, _, one, _) = ask()
    bus.cancel(5, by: one)
    #expect(bus.take() == ["B refused 902 notFound"])
    #expect(bus.queryCount == 1)
  }

  @Test("An asker that disconnects cancels what it asked, and is told nothing more")
  func askerDisconnecting() {
    let (bus, asker, one, other) = ask()
    bus.ask("x", by: asker, serial: 6)
    _ = bus.take()
    bus.disconnect(asker)
    #expect(
      bus.take() == [
        "B concluded 1 q1 d1 cancelled", "C concluded 1 q1 d2 cancelled", "B concluded 1 q2 d1 cancelled",
        "C concluded 1 q2 d2 cancelled",
      ])
    bus.answer(.veto, delegate: 1, from: one)
    bus.answer(.veto, query: 2, delegate: 2, from: other)
    #expect(bus.take() == ["B refused 900 notAsked", "C refused 900 notAsked"])
    #expect(bus.nextDeadline == nil && bus.queryCount == 0)
  }

  @Test("An asker that is its own delegate can leave with both")
  func askingItself() {
    let bus = BusUnderTest()
    let slot = bus.connect()
    bus.attach(["x"], by: slot, serial: 1)
    bus.ask("x", by: slot, serial: 5)
    _ = bus.take()
    bus.disconnect(slot)
    #expect(bus.take().isEmpty)
    #expect(bus.isEmpty)
  }

  @Test("Whoever gets the asker's slot next hears nothing of its queries")
  func slotReuse() {
    let (bus, asker, one, _) = ask()
    bus.disconnect(asker)
    _ = bus.take()
    #expect(bus.connect() == asker)
    bus.answer(.approve, delegate: 1, from: one)
    bus.advance(milliseconds: 60_000)
    #expect(bus.take() == ["B refused 900 notAsked"])
  }

  @Test("Whoever gets a delegate's slot next cannot answer for it")
  func delegateSlotReuse() {
    let (bus, _, one, _) = ask(policy: .abstain)
    bus.disconnect(one)
    #expect(bus.connect() == one)
    bus.attach(["x"], by: one, serial: 1)
    _ = bus.take()
    bus.answer(.veto, delegate: 1, from: one)
    bus.answer(.veto, delegate: 3, from: one)
    #expect(bus.take() == ["B refused 900 notAsked", "B refused 900 notAsked"])
  }

  /// An answer that nobody waits for.
  struct Stray: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let query: UInt64
    let delegate: UInt64
    /// 0 the asker, 1 and 2 the delegates.
    let sender: Int
  }

  @Test(
    "An answer that nobody waits for is refused, and changes nothing",
    arguments: [
      Stray(testDescription: "from the asker", query: 1, delegate: 1, sender: 0),
      Stray(testDescription: "from another delegate", query: 1, delegate: 1, sender: 2),
      Stray(testDescription: "to a query that never was", query: 2, delegate: 1, sender: 1),
      Stray(testDescription: "to query 0", query: 0, delegate: 1, sender: 1),
      Stray(testDescription: "for a delegate that never was", query: 1, delegate: 9, sender: 1),
      Stray(testDescription: "for delegate 0", query: 1, delegate: 0, sender: 1),
      Stray(testDescription: "with the largest numbers", query: .max, delegate: .max, sender: 1),
    ])
  func strayAnswers(_ stray: Stray) {
    for mode in [QueryMode.parallel, .all, .order] {
      let (bus, asker, one, other) = ask(mode: mode)
      let sender = [asker, one, other][stray.sender]
      bus.answer(.veto, query: stray.query, delegate: stray.delegate, from: sender)
      #expect(bus.take() == ["\(sender.letter) refused 900 notAsked"])
      bus.answer(.approve, delegate: 1, from: one)
      bus.answer(.approve, delegate: 2, from: other)
      #expect(bus.take().contains("A verdict 5 q1 allowed: d1 approved, d2 approved"))
    }
  }

  @Test("In order, one whose turn has not come cannot answer yet")
  func outOfTurn() {
    let (bus, _, one, other) = ask(mode: .order)
    bus.answer(.veto, "early", delegate: 2, from: other)
    #expect(bus.take() == ["C refused 900 notAsked"])
    bus.answer(.approve, delegate: 1, from: one)
    #expect(bus.take() == ["C question 1 q1 d2 5000ms x"])
  }

  @Test("An answer that comes after the delegate's time is refused, and what came of it stays")
  func late() {
    let (bus, _, one, other) = ask(mode: .all, policy: .abstain)
    bus.deferAnswer(10_000, delegate: 2, from: other)
    bus.advance(milliseconds: 5_000)
    _ = bus.take()
    bus.answer(.veto, "late", delegate: 1, from: one)
    #expect(bus.take() == ["B refused 900 notAsked"])
    bus.answer(.approve, delegate: 2, from: other)
    #expect(bus.take().first == "A verdict 5 q1 allowed: d1 timedOut, d2 approved")
  }

  @Test("What happens at the same time happens in the same order every time")
  func determinism() {
    func run() -> [String] {
      let bus = BusUnderTest()
      let (asker, delegate) = (bus.connect(), bus.connect())
      bus.attach(["x"], by: delegate, serial: 1)
      for serial in 0..<50 { bus.ask("x", by: asker, serial: Serial(1000 - 7 * serial), mode: .all) }
      for _ in 0..<20 { bus.ask("x", by: bus.connect(), serial: 5) }
      bus.disconnect(delegate)
      bus.attach(["y"], by: bus.connect(), serial: 1)
      for serial in 0..<50 { bus.ask("y", by: asker, serial: Serial(1000 - 7 * serial)) }
      bus.disconnect(asker)
      return bus.take()
    }
    let first = run()
    #expect(run() == first)
    #expect(run() == first)
  }
}

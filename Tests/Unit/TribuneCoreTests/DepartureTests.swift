// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneWire

@Suite("Departures during a query", .timeLimit(.minutes(15)))
struct DepartureTests {
  private func ask(
    mode: QueryMode = .parallel, policy: FailurePolicy = .veto
  ) -> (BusUnderTest, asker: ConnectionSlot, one: ConnectionSlot, other: ConnectionSlot) {
    let bus = BusUnderTest()
    let asker = bus.connect()
    let (one, other) = (
      bus.connectDelegate("shouldX", policy: policy), bus.connectDelegate("shouldX", policy: policy)
    )
    bus.ask("shouldX", by: asker, serial: 5, mode: mode)
    _ = bus.take()
    return (bus, asker, one, other)
  }

  @Test("In order, a delegate that disconnects before its turn is gone when its turn comes")
  func goingBeforeTurn() {
    let (bus, _, one, other) = ask(mode: .order)
    bus.disconnect(other)
    #expect(bus.take().isEmpty)
    bus.answer(.approve, delegate: 1, from: one)
    bus.expect("A verdict 5 q1 vetoed: d1 approved, d2 gone", "B concluded 1 q1 d1 vetoed")
  }

  @Test("When a connection disconnects, all its delegates are gone in every query")
  func manyAtOnce() {
    let bus = BusUnderTest()
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX"))
    bus.attach(["**"], by: delegate, serial: 2)
    bus.ask("shouldX", by: asker, serial: 5, mode: .all)
    bus.ask("shouldY", by: asker, serial: 6, mode: .all)
    bus.ask("shouldX", by: asker, serial: 7, mode: .order)
    _ = bus.take()
    bus.disconnect(delegate)
    bus.expect(
      "A verdict 5 q1 vetoed: d1 gone, d2 gone", "A verdict 6 q2 vetoed: d2 gone",
      "A verdict 7 q3 vetoed: d1 gone")
    #expect(bus.isEmpty)
  }

  @Test("Only its asker can cancel a query; it gets no verdict, and the delegates are notified")
  func cancelling() {
    let (bus, asker, one, _) = ask()
    bus.cancel(5, by: one)
    bus.expect("B refused 902 notFound")
    #expect(bus.queryCount == 1)
    bus.answer(.approve, delegate: 1, from: one)
    bus.cancel(5, by: asker)
    bus.expect(
      "A refused 5 cancelled", "B concluded 1 q1 d1 cancelled", "C concluded 1 q1 d2 cancelled", "A ok 902")
    #expect(bus.nextDeadline == nil && bus.queryCount == 0)
    bus.cancel(5, by: asker)
    bus.expect("A refused 902 notFound")
  }

  @Test("The next connection in a delegate's slot cannot answer for it")
  func delegateSlotReuse() {
    let (bus, _, one, _) = ask(policy: .abstain)
    bus.disconnect(one)
    #expect(bus.connect() == one)
    bus.attach(["shouldX"], by: one, serial: 1)
    _ = bus.take()
    bus.answer(.veto, delegate: 1, from: one)
    bus.answer(.veto, delegate: 3, from: one)
    bus.expect("B refused 900 notAsked", "B refused 900 notAsked")
  }

  @Test(
    "An unexpected answer is refused, and changes nothing",
    arguments: [
      // The last number is the sender: the asker (0) or a delegate (1, 2).
      ("from the asker", 1, 1, 0), ("from another delegate", 1, 1, 2), ("to a query that never was", 2, 1, 1),
      ("to query 0", 0, 1, 1), ("for a delegate that never was", 1, 9, 1), ("for delegate 0", 1, 0, 1),
      ("with the largest numbers", .max, .max, 1),
    ] as [(String, UInt64, UInt64, Int)])
  func strayAnswers(_ description: String, query: UInt64, delegate: UInt64, senderIndex: Int) {
    for mode in [QueryMode.parallel, .all, .order] {
      let (bus, asker, one, other) = ask(mode: mode)
      let sender = [asker, one, other][senderIndex]
      bus.answer(.veto, query: query, delegate: delegate, from: sender)
      bus.expect("\(sender.letter) refused 900 notAsked")
      bus.answer(.approve, delegate: 1, from: one)
      bus.answer(.approve, delegate: 2, from: other)
      #expect(bus.take().contains("A verdict 5 q1 allowed: d1 approved, d2 approved"))
    }
  }

  @Test("In order, a delegate cannot answer before its turn")
  func outOfTurn() {
    let (bus, _, one, other) = ask(mode: .order)
    bus.answer(.veto, "early", delegate: 2, from: other)
    bus.expect("C refused 900 notAsked")
    bus.answer(.approve, delegate: 1, from: one)
    bus.expect("C question 1 q1 d2 5000ms shouldX")
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import Tribune

@testable import TribuneCommands

@Suite("Delegates that vetoed and left")
struct DeparturesTests {
  private let start = ContinuousClock.now
  private let departures = Departures(returningWithin: .seconds(5))

  private func take(_ outcomes: [Outcome], after seconds: Int, isAllowed: Bool = false) {
    let moment = start + .seconds(seconds)
    departures.take(
      Verdict(isAllowed ? .allowed : .vetoed, query: 1, outcomes: outcomes), askedAt: moment, at: moment)
  }

  private var end: Duration? { departures.end.map { start.duration(to: $0) } }

  @Test("One that leaves has time to return, whether it is announced or not", arguments: [false, true])
  func left(isAnnounced: Bool) {
    take([Outcome(delegate: 1, kind: .vetoed)], after: 0)
    #expect(end == nil)
    if isAnnounced { departures.leaves(.init(id: 1), at: start + .seconds(1)) }
    take([], after: 2, isAllowed: true)
    #expect(end == .seconds(isAnnounced ? 6 : 7))
    take([], after: 8, isAllowed: true)
    #expect(end == nil)
  }

  @Test("One that left during its question has time from then on, even beside other vetoes")
  func gone() {
    take([Outcome(delegate: 1, kind: .gone), Outcome(delegate: 2, kind: .vetoed)], after: 1)
    #expect(end == .seconds(6))
    take([Outcome(delegate: 2, kind: .vetoed)], after: 2)
    #expect(end == .seconds(6))
    take([Outcome(delegate: 2, kind: .approved)], after: 6, isAllowed: true)
    #expect(end == nil)
  }

  @Test(
    "One that consents now, a hold, and a missing required delegate are not waited for; a lock of logind is",
    arguments: [
      (Outcome(delegate: 1, kind: .held), Outcome?.none, false),
      (Outcome(delegate: 1, label: "logind:x", kind: .held), nil, true),
      (Outcome(delegate: 0, label: "x", kind: .gone), nil, false),
      (Outcome(delegate: 1, kind: .vetoed), Outcome(delegate: 1, kind: .abstained), false),
      (Outcome(delegate: 1, kind: .timedOut), Outcome(delegate: 2, kind: .approved), true),
    ])
  func kinds(before: Outcome, after: Outcome?, isWaitedFor: Bool) {
    take([before], after: 0)
    take(after.map { [$0] } ?? [], after: 1, isAllowed: true)
    #expect((end != nil) == isWaitedFor)
  }
}

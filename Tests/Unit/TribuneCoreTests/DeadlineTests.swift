// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Deadlines", .timeLimit(.minutes(15)))
struct DeadlineTests {
  private func bus(
    timeouts: [UInt32], policy: FailurePolicy = .veto
  ) -> (BusUnderTest, asker: ConnectionSlot, delegates: [ConnectionSlot]) {
    let bus = BusUnderTest()
    let asker = bus.connect()
    let delegates = timeouts.map { bus.connectDelegate("shouldX", policy: policy, timeout: $0) }
    return (bus, asker, delegates)
  }

  @Test(
    "A late answer counts until the clock has been advanced, and is then refused", arguments: [1000, 1001])
  func late(milliseconds: UInt32) {
    let (bus, asker, delegates) = bus(timeouts: [1000, 1000, 0])
    bus.ask("shouldX", by: asker, serial: 5, mode: .all)
    _ = bus.take()
    bus.elapse(milliseconds: milliseconds)
    bus.answer(.approve, delegate: 1, from: delegates[0])
    bus.advance(milliseconds: 0)
    bus.answer(.approve, delegate: 2, from: delegates[1])
    bus.expect("C refused 900 notAsked")
    bus.answer(.approve, delegate: 3, from: delegates[2])
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 approved, d2 timedOut, d3 approved")
  }

  @Test(
    "Deadlines of one moment come by rank, in any order of inserts and moves",
    arguments: 1...20 as ClosedRange<UInt64>)
  func rank(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (early, late) = (Instant(nanoseconds: 1), Instant(nanoseconds: 2))
    let ranks =
      [DeadlineRank(.hold, 9), DeadlineRank(.awaitedPost, 3, 7), DeadlineRank(.awaitedPost, 3, 8)]
      + (1...20 as ClosedRange<UInt64>).map { DeadlineRank(.query, $0) }
    var deadlines = Deadlines<DeadlineRank>()
    for rank in ranks.shuffled(using: &random) {
      let passing = deadlines.insert(rank, due: early)
      _ = deadlines.insert(rank, due: late, rank: rank)
      deadlines.remove(passing)
    }
    var order: [DeadlineRank] = []
    while let first = deadlines.first {
      order.append(first.item)
      deadlines.remove(first.handle)
    }
    #expect(order == ranks)
  }

  @Test("Only the deadline of a delegate that was not heard in time moves", arguments: Restart.allCases)
  func prolonged(_ restart: Restart) {
    let bus = BusUnderTest()
    bus.log = []
    let asker = bus.connect()
    let (one, other) = (
      bus.connectDelegate("shouldX", policy: .abstain), bus.connectDelegate("shouldX", policy: .abstain)
    )
    for serial in 5...6 as ClosedRange<Serial> {
      bus.ask("shouldX", by: asker, serial: serial, mode: .all, deadline: 1000)
    }
    bus.elapse(milliseconds: 1000)
    let (now, end) = (bus.now, bus.now.advanced(byMilliseconds: 10))
    #expect(bus.bus.overdueSlots(at: now) == [one, other])
    bus.happen { $0.advance(to: now, waitingFor: [one], until: end) }
    bus.advance(milliseconds: 9)
    _ = bus.take()
    bus.restart(restart)
    bus.answer(.veto, query: 1, delegate: 1, from: one)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 vetoed, d2 timedOut")
    bus.advance(milliseconds: 1)
    #expect(bus.take().first == "A verdict 6 q2 allowed?: d1 timedOut, d2 timedOut")
    #expect(bus.bus.nextDeadline == nil)
  }

  @Test(
    "If a bus dies between a query's deadline and its verdict, the next bus gives the verdict",
    arguments: Restart.allCases)
  func overdue(_ restart: Restart) {
    let bus = BusUnderTest()
    bus.log = []
    let (asker, one) = (bus.connect(), bus.connectDelegate("shouldX", policy: .abstain))
    bus.connectDelegate("shouldX", policy: .abstain)
    bus.ask("shouldX", by: asker, serial: 5, mode: .order, deadline: 1000)
    bus.elapse(milliseconds: 1000)
    bus.disconnect(one)
    _ = bus.take()
    bus.restart(restart)
    bus.advance(milliseconds: 0)
    #expect(bus.take().first == "A verdict 5 q1 allowed?: d1 gone, d2 timedOut (it was not asked in time)")
  }

  @Test("In order, no delegate is asked after the asker's deadline, even before the clock has been advanced")
  func notAsked() {
    let bus = BusUnderTest()
    let (asker, one) = (bus.connect(), bus.connectDelegate("shouldX", policy: .abstain))
    bus.connectDelegate("shouldX")
    bus.ask("shouldX", by: asker, serial: 5, mode: .order, deadline: 1000)
    _ = bus.take()
    bus.elapse(milliseconds: 1000)
    bus.answer(.approve, delegate: 1, from: one)
    #expect(bus.take() == [])
    bus.advance(milliseconds: 0)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 approved, d2 timedOut (it was not asked in time)")
  }

  @Test("The bus has defaults for deadlines and timeouts")
  func settings() {
    let bus = BusUnderTest {
      $0.delegateTimeout = 300
      $0.deadline = 200
    }
    let asker = bus.connect()
    bus.connectDelegate("shouldX")
    bus.ask("shouldX", by: asker, serial: 5)
    bus.ask("shouldX", by: asker, serial: 6, deadline: 1000)
    bus.expect("B question 1 q1 d1 200ms shouldX", "B question 1 q2 d1 300ms shouldX")
  }

  @Test(
    "A delegate's time ends with the asker's deadline",
    arguments: [(100, 700, 100), (700, 100, 100), (100, 100, 100), (3_600_000, .max, 3_600_000)]
      as [(UInt32, UInt32, UInt32)])
  func askersDeadline(_ deadline: UInt32, _ timeout: UInt32, _ expected: UInt32) {
    let (bus, asker, _) = bus(timeouts: [timeout])
    bus.ask("shouldX", by: asker, serial: 5, deadline: deadline)
    bus.expect("B question 1 q1 d1 \(expected)ms shouldX")
    bus.expectNothing(forMilliseconds: expected)
    bus.expect("A verdict 5 q1 vetoed: d1 timedOut", "B concluded 1 q1 d1 vetoed")
  }

  @Test("After a long time at once, each query catches up")
  func lateAdvance() {
    let (bus, asker, _) = bus(timeouts: [100, 900], policy: .abstain)
    bus.ask("shouldX", by: asker, serial: 5)
    bus.ask("shouldX", by: asker, serial: 6, mode: .order)
    _ = bus.take()
    bus.advance(milliseconds: 5000)
    let transcript = bus.take()
    #expect(transcript.contains("A verdict 5 q1 allowed?: d1 timedOut, d2 timedOut"))
    #expect(transcript.contains("C question 1 q2 d2 900ms shouldX"))
    bus.advance(milliseconds: 900)
    #expect(bus.take().first == "A verdict 6 q2 allowed?: d1 timedOut, d2 timedOut")
    #expect(bus.nextDeadline == nil)
  }

  @Test("An answer does not change the time of the other delegates")
  func othersKeepTheirTime() {
    let (bus, asker, delegates) = bus(timeouts: [100, 300])
    bus.ask("shouldX", by: asker, serial: 5)
    bus.answer(.approve, delegate: 1, from: delegates[0])
    _ = bus.take()
    bus.expectNothing(forMilliseconds: 300)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 approved, d2 timedOut")
  }

  @Test("In order, each delegate's time begins when it is asked")
  func inOrder() {
    let (bus, asker, delegates) = bus(timeouts: [500, 500])
    bus.ask("shouldX", by: asker, serial: 5, mode: .order)
    bus.advance(milliseconds: 400)
    bus.answer(.approve, delegate: 1, from: delegates[0])
    _ = bus.take()
    bus.advance(milliseconds: 499)
    #expect(bus.take().isEmpty)
    bus.answer(.approve, delegate: 2, from: delegates[1])
    #expect(bus.take().first == "A verdict 5 q1 allowed: d1 approved, d2 approved")
  }

  @Test(
    "A delegate that was not asked before the deadline receives nothing, and counts by its failure policy",
    arguments: [
      (
        FailurePolicy.abstain,
        "allowed?: d1 timedOut, d2 timedOut (it was not asked in time), d3 timedOut (it was not asked in time)",
        "allowed"
      ),
      (.veto, "vetoed: d1 timedOut, d2 timedOut (it was not asked in time)", "vetoed"),
    ])
  func neverAsked(policy: FailurePolicy, verdict: String, conclusion: String) {
    let (bus, asker, _) = bus(timeouts: [500], policy: .abstain)
    for _ in 0..<2 { bus.connectDelegate("shouldX", policy: policy, timeout: 500) }
    bus.ask("shouldX", by: asker, serial: 5, mode: .order, deadline: 500)
    bus.expect("B question 1 q1 d1 500ms shouldX")
    bus.advance(milliseconds: 500)
    bus.expect("A verdict 5 q1 \(verdict)", "B concluded 1 q1 d1 \(conclusion)")
  }

  @Test("A deferral gives time from now on, and the asker is notified")
  func deferring() {
    let (bus, asker, delegates) = bus(timeouts: [500])
    bus.ask("shouldX", by: asker, serial: 5)
    _ = bus.take()
    bus.advance(milliseconds: 400)
    bus.deferAnswer(2000, "unmounting", delegate: 1, from: delegates[0])
    bus.expect("A progress 5 q1 d1 2000ms unmounting")
    bus.advance(milliseconds: 1500)
    bus.deferAnswer(1000, "still", delegate: 1, from: delegates[0])
    bus.expect("A progress 5 q1 d1 1000ms still")
    bus.expectNothing(forMilliseconds: 1000)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 timedOut")
  }

  @Test(
    "A deferral never reaches past the asker's deadline", arguments: [10_001, 3_600_000, .max] as [UInt32])
  func deferringTooLong(_ milliseconds: UInt32) {
    let (bus, asker, delegates) = bus(timeouts: [500])
    bus.ask("shouldX", by: asker, serial: 5, deadline: 10_000)
    _ = bus.take()
    bus.deferAnswer(milliseconds, delegate: 1, from: delegates[0])
    bus.expect("A progress 5 q1 d1 10000ms ")
    bus.expectNothing(forMilliseconds: 10_000)
    #expect(bus.take().first == "A verdict 5 q1 vetoed: d1 timedOut")
  }

  @Test("A deferral of one delegate does not change the time of the others")
  func deferringAlone() {
    let (bus, asker, delegates) = bus(timeouts: [500, 600], policy: .abstain)
    bus.ask("shouldX", by: asker, serial: 5)
    bus.deferAnswer(5000, delegate: 1, from: delegates[0])
    _ = bus.take()
    bus.advance(milliseconds: 600)
    #expect(bus.take().isEmpty)
    bus.answer(.approve, delegate: 2, from: delegates[1])
    bus.expect("C refused 900 notAsked")
    bus.answer(.approve, delegate: 1, from: delegates[0])
    #expect(bus.take().first == "A verdict 5 q1 allowed: d1 approved, d2 timedOut")
  }

  @Test("A delegate that deferred can still veto, and answers once")
  func deferringThenVeto() {
    let (bus, asker, delegates) = bus(timeouts: [500])
    bus.ask("shouldX", by: asker, serial: 5)
    bus.deferAnswer(5000, delegate: 1, from: delegates[0])
    bus.advance(milliseconds: 4000)
    _ = bus.take()
    bus.answer(.veto, "no", delegate: 1, from: delegates[0])
    bus.deferAnswer(5000, delegate: 1, from: delegates[0])
    bus.expect(
      "A verdict 5 q1 vetoed: d1 vetoed (no)", "B concluded 1 q1 d1 vetoed", "B refused 901 notAsked")
  }

  @Test("A thousand deadlines pass in their order, whatever the order of the queries", arguments: Seeds.all)
  func many(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (bus, asker, _) = bus(timeouts: [.max])
    var deadlines: [UInt32] = []
    for index in 0..<1000 {
      deadlines.append(UInt32.random(in: 1...500, using: &random))
      bus.ask("shouldX", by: asker, serial: Serial(index + 10), deadline: deadlines[index])
      if random.oneIn(4) { bus.cancel(Serial(Int.random(in: 10...index + 10, using: &random)), by: asker) }
    }
    _ = bus.take()
    let start = bus.now
    var ended = 0
    while let next = bus.nextDeadline {
      #expect(next > bus.now)
      #expect(bus.advanceToNextDeadline())
      let passed = bus.now.milliseconds(since: start)
      for line in bus.take() where line.contains("verdict") {
        let serial = Int(line.split(separator: " ")[2]) ?? 0
        #expect(deadlines[serial - 10] == passed)
        ended += 1
      }
    }
    #expect(bus.queryCount == 0 && ended > 500)
  }
}

@Suite("Instants", .timeLimit(.minutes(15)))
struct InstantTests {
  @Test("Instants saturate at the largest number")
  func saturation() {
    let end = Instant(nanoseconds: .max)
    #expect(Instant(nanoseconds: .max - 1).advanced(byMilliseconds: 1) == end)
    #expect(end.advanced(byNanoseconds: .max) == end)
    #expect(Instant(nanoseconds: 5).advanced(byNanoseconds: 2) == Instant(nanoseconds: 7))
  }

  @Test(
    "Milliseconds are rounded up, and are 0 since an instant that is not earlier",
    arguments: [
      (0, 0, 0), (1, 0, 1), (1_000_000, 0, 1), (1_000_001, 0, 2), (0, 5, 0), (.max, 0, .max), (.max, .max, 0),
    ] as [(UInt64, UInt64, UInt32)])
  func milliseconds(_ later: UInt64, _ earlier: UInt64, _ expected: UInt32) {
    let span = Instant(nanoseconds: later).milliseconds(since: Instant(nanoseconds: earlier))
    #expect(span == expected)
  }
}

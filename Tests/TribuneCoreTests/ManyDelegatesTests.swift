// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Many delegates", .timeLimit(.minutes(15)))
struct ManyDelegatesTests {
  private let bus = BusUnderTest()

  @Test(
    "Ten thousand delegates of one object are all asked, and nothing is left", arguments: QueryMode.allCases)
  func tenThousand(_ mode: QueryMode) throws {
    let (count, connections) = (10_000, 4)
    let asker = bus.connect()
    let slots = (0..<connections).map { _ in bus.connect() }
    for index in 0..<count {
      bus.attach(
        ["x"], to: "o", by: slots[index % connections], serial: Serial(index + 1), order: Int32(index % 7),
        label: "\(index)")
    }
    #expect(bus.delegateCount == count)
    _ = bus.take()
    bus.ask("x", object: "o", by: asker, serial: 5, mode: mode, deadline: 3_600_000)
    var asked: Set<UInt64> = []
    var next = bus.takeQuestions()
    while !next.isEmpty {
      for (slot, question) in next {
        #expect(asked.insert(question.delegate.rawValue).inserted)
        bus.answer(.abstain, delegate: question.delegate.rawValue, from: slot)
      }
      next = bus.takeQuestions()
    }
    #expect(asked.count == count)
    let verdict = try #require(bus.lastVerdict)
    #expect(verdict.outcomes.count == count && verdict.isUnanswered)
    #expect(verdict.outcomes.map(\.delegate.id) == (try bus.chain("x", object: "o").map(\.delegate.id)))
    #expect(bus.queryCount == 0 && bus.nextDeadline == nil)
    for slot in slots { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test("Ten thousand that leave at once are all gone, for every query that waits for them")
  func allLeave() {
    let (asker, one, other) = (bus.connect(), bus.connect(), bus.connect())
    for serial in 1...4096 as ClosedRange<Serial> {
      bus.attach(["x"], to: "o", by: one, serial: serial, policy: .abstain, label: "\(serial)")
      bus.attach(["x"], to: "o", by: other, serial: serial, policy: .abstain, label: "\(serial)")
    }
    for serial in 1...4 as ClosedRange<Serial> {
      bus.ask("x", object: "o", by: asker, serial: serial, mode: .all)
    }
    _ = bus.take()
    bus.disconnect(one)
    #expect(bus.take().isEmpty && bus.delegateCount == 4096)
    bus.disconnect(other)
    #expect(bus.take().count == 4)
    #expect(bus.lastVerdict?.outcomes.count == 8192)
    #expect(bus.isEmpty)
  }

  @Test("Of many queries that wait for one delegate, each can end at any time", arguments: Seeds.all)
  func manyQueriesOfOne(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (asker, delegate) = (bus.connect(), bus.connect())
    bus.attach(["x"], by: delegate, serial: 1)
    var waiting: [Serial] = []
    var serial: Serial = 0
    for _ in 0..<2000 {
      if waiting.isEmpty || Int.random(in: 0..<5, using: &random) < 3 {
        serial += 1
        bus.ask("x", by: asker, serial: serial)
        waiting.append(serial)
      } else {
        let place = Int.random(in: waiting.indices, using: &random)
        bus.cancel(waiting.remove(at: place), by: asker, serial: 1_000_000)
      }
    }
    #expect(bus.queryCount == waiting.count)
    _ = bus.take()
    bus.disconnect(delegate)
    #expect(bus.take().count == waiting.count)
    #expect(bus.queryCount == 0 && bus.delegateCount == 0)
  }

  @Test("One that comes and goes all the time breaks no verdict, and leaves nothing", arguments: Seeds.all)
  func churn(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (asker, steady, restless) = (bus.connect(), bus.connect(), bus.connect())
    bus.attach(["x"], to: "o", by: steady, serial: 1)
    var verdicts: [UInt64: Verdict] = [:]
    var concluded: [String: Int] = [:]
    bus.onEffect = { effect in
      switch effect {
      case .verdict(_, _, let decision, _):
        #expect(verdicts.updateValue(decision.verdict, forKey: decision.verdict.query.rawValue) == nil)
      case .concluded(_, _, let ending, _):
        concluded["\(ending.query.rawValue) \(ending.delegate.rawValue)", default: 0] += 1
      default: break
      }
    }
    let rounds = 1000 as UInt64
    for round in 1...rounds {
      let serial = 10 + round
      if random.oneIn(2) {
        bus.attach(["x", "x.didGo"], to: "o", by: restless, serial: serial, policy: .abstain)
      } else {
        bus.attach(["x", "x.didGo"], to: "o", by: restless, serial: serial, policy: .abstain, label: "l")
        bus.hold("y", by: restless, serial: serial + rounds)
      }
      bus.ask(
        "x", object: "o", by: asker, serial: serial, mode: random.pick([.parallel, .all, .collect]),
        flags: .tellsProgress)
      if random.oneIn(4) {
        bus.disconnect(restless)
        #expect(bus.connect() == restless)
      } else {
        bus.cancel(serial, by: restless)
        bus.cancel(serial + rounds, by: restless)
      }
      bus.answer(.approve, query: round, delegate: 1, from: steady)
      // What the restless one might still say is nobody's.
      bus.answer(.veto, "late", query: round, delegate: 2, from: restless)
      #expect(bus.queryCount == 0 && bus.delegateCount == 1 && bus.bus.holdCount == 0)
      #expect(bus.counts(at: asker).queries == 0 && bus.nextDeadline == nil)
    }
    #expect(verdicts.count == Int(rounds))
    for verdict in verdicts.values {
      #expect(verdict.outcomes.map(\.outcome) == [.approved, .gone])
    }
    #expect(concluded.count == Int(rounds) && concluded.values.allSatisfy { $0 == 1 })
    bus.disconnect(steady)
    bus.disconnect(restless)
    #expect(bus.isEmpty)
  }

  @Test("One that is set a thousand times over during queries leaves one delegate, and every query its end")
  func replacedAllTheTime() throws {
    let asker = bus.connect()
    let slots = [bus.connect(), bus.connect()]
    for round in 1...1000 as ClosedRange<UInt64> {
      bus.attach(["x"], to: "o", by: slots[Int(round % 2)], serial: round, policy: .abstain, isSet: true)
      #expect(bus.delegateCount == 1 && bus.queryCount == 0)
      bus.ask("x", object: "o", by: asker, serial: round)
      #expect(bus.queryCount == 1)
    }
    #expect(bus.verdictCounts == [999, 0])
    #expect(try bus.chain("x", object: "o").map(\.delegate.id.rawValue) == [1000])
    for slot in [asker] + slots { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }
}

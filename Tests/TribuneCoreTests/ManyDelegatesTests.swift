// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Many delegates", .timeLimit(.minutes(15)))
struct ManyDelegatesTests {
  private let bus = BusUnderTest()

  @Test(
    "Ten thousand delegates of one object are all asked", arguments: QueryMode.allCases)
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

  @Test("When connections with thousands of delegates disconnect, every query ends")
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

  @Test("Many queries can wait for one delegate, and be cancelled in any order", arguments: Seeds.all)
  func manyQueriesOfOne(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("x"))
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

  @Test("Replacing a delegate again and again during queries ends each query, and leaves one delegate")
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

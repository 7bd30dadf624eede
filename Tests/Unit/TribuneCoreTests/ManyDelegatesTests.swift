// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Many delegates", .timeLimit(.minutes(15)))
struct ManyDelegatesTests {
  private let bus = BusUnderTest()

  @Test("Thousands of delegates of one object are all asked", arguments: QueryMode.allCases)
  func thousands(_ mode: QueryMode) throws {
    let (count, connections) = (3_000, 4)
    let asker = bus.connect()
    let slots = (0..<connections).map { _ in bus.connect() }
    for index in 0..<count {
      bus.attach(
        ["x", "shouldX"], to: "o", by: slots[index % connections], serial: Serial(index + 1),
        order: Int32(index % 7),
        label: "\(index)")
    }
    #expect(bus.delegateCount == count)
    _ = bus.take()
    bus.ask(mode.name, object: "o", by: asker, serial: 5, mode: mode, deadline: 3_600_000)
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
    #expect(verdict.outcomes.count + Int(verdict.omittedCount) == count && verdict.isUnanswered)
    let listed = try bus.chain(mode.name, object: "o").prefix(verdict.outcomes.count)
    #expect(listed.count > 400 && verdict.outcomes.map(\.delegate.id) == listed.map(\.delegate.id))
    #expect(bus.queryCount == 0 && bus.nextDeadline == nil)
    for slot in slots { bus.disconnect(slot) }
    #expect(bus.isEmpty)
  }

  @Test("Many queries can wait for one delegate, and be cancelled in any order", arguments: Seeds.all)
  func manyQueriesOfOne(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let (asker, delegate) = (bus.connect(), bus.connectDelegate("shouldX"))
    var waiting: [Serial] = []
    var serial: Serial = 0
    for _ in 0..<2000 {
      if waiting.isEmpty || Int.random(in: 0..<5, using: &random) < 3 {
        serial += 1
        bus.ask("shouldX", by: asker, serial: serial)
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
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport

@testable import TribuneServer

@Suite("A set of slots", .timeLimit(.minutes(15)))
struct SlotSetTests {
  @Test("Agrees with a set of numbers under random changes", arguments: Seeds.all)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var (slots, model) = (SlotSet(), Set<Int>())
    for _ in 0..<2000 {
      let index = Int.random(in: 0..<300, using: &random)
      if random.oneIn(2) {
        slots.insert(ConnectionSlot(index: index))
        model.insert(index)
      } else {
        slots.remove(ConnectionSlot(index: index))
        model.remove(index)
      }
      let probe = Int.random(in: 0..<400, using: &random)
      #expect(slots.contains(ConnectionSlot(index: probe)) == model.contains(probe))
    }
    var all: [Int] = []
    slots.visit { all.append($0.index) }
    #expect(all == model.sorted())
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport

@Suite("Places of outcomes", .timeLimit(.minutes(15)))
struct OutcomePlacesTests {
  @Test("are a set of numbers, however many there are", arguments: Seeds.all)
  func oracle(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for limit in [1, 64, 65, 300] {
      var places = OutcomePlaces()
      var expected: Set<Int> = []
      for place in (0..<limit).shuffled(using: &random) where random.oneIn(3) {
        places.insert(place)
        expected.insert(place)
      }
      #expect(places.count == expected.count)
      #expect((0..<limit + 100).filter { places.contains($0) } == expected.sorted())
      #expect(places == OutcomePlaces(expected))
    }
  }
}

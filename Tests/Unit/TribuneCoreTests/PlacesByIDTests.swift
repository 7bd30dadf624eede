// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@Suite("Places of queries", .timeLimit(.minutes(15)))
struct PlacesByIDTests {
  @Test("are found by id, even if the ids are far apart", arguments: Seeds.all)
  func oracle(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var places = PlacesByID()
    var expected: [UInt64: Int] = [:]
    var last: UInt64 = 0
    for step in 0..<3_000 {
      last += random.oneIn(50) ? 200 : 1
      places[QueryID(rawValue: last)] = step
      expected[last] = step
      while expected.count > 40 || !expected.isEmpty && random.oneIn(2) {
        guard let gone = expected.keys.filter({ $0 % 7 != 0 || random.oneIn(20) }).min() else { break }
        places[QueryID(rawValue: gone)] = nil
        expected[gone] = nil
      }
      let id = UInt64.random(in: 0...last + 300, using: &random)
      #expect(places[QueryID(rawValue: id)] == expected[id])
      #expect(places.count == expected.count)
    }
    #expect(places.inOrder == expected.sorted { $0.key < $1.key }.map(\.value))
    for id in 0...last + 1 { #expect(places[QueryID(rawValue: id)] == expected[id]) }
  }

  @Test("are nil before the first query, and for an id that no query has")
  func none() {
    var places = PlacesByID()
    #expect(places[QueryID(rawValue: 0)] == nil)
    places[QueryID(rawValue: 7)] = nil
    places[QueryID(rawValue: 256)] = 3
    #expect(places[QueryID(rawValue: 0)] == nil)
    #expect(places[QueryID(rawValue: 512)] == nil)
    #expect(places.count == 1)
    #expect(places.inOrder == [3])
  }
}

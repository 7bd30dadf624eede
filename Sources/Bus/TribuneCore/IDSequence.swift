// SPDX-License-Identifier: Apache-2.0

/// Ids that are given once each, in rising order.
struct IDSequence {
  /// The last one given.
  private(set) var last: UInt64 = 0
  /// The highest one known to have been given. It exceeds the last one only during a restore.
  private(set) var highest: UInt64 = 0

  mutating func next() -> UInt64 {
    last += 1
    return last
  }

  /// Makes the next id follow `last`, which can be lower than those given already until `finishRestoring`.
  mutating func setLast(_ last: UInt64) {
    raiseHighest()
    self.last = min(last, BusCounters.most)
    raiseHighest()
  }

  /// Makes ids up to this one count as given.
  mutating func raiseHighest(to id: UInt64 = 0) { highest = max(highest, last, min(id, BusCounters.most)) }

  mutating func finishRestoring() {
    raiseHighest()
    last = highest
  }
}

// SPDX-License-Identifier: Apache-2.0

struct IDSequence {
  private(set) var last: UInt64 = 0
  /// The highest id that this bus or an earlier one is known to have assigned. It exceeds `last` only while
  /// the bus is restored from the log.
  private(set) var highest: UInt64 = 0

  mutating func next() -> UInt64 {
    last += 1
    return last
  }

  mutating func setLast(_ last: UInt64) {
    raiseHighest()
    self.last = min(last, BusCounters.most)
    raiseHighest()
  }

  /// Marks all ids up to `id` as assigned, so new ids are higher after `finishRestoring`.
  mutating func raiseHighest(to id: UInt64 = 0) { highest = max(highest, last, min(id, BusCounters.most)) }

  mutating func finishRestoring() {
    raiseHighest()
    last = highest
  }
}

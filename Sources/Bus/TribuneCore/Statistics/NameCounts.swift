// SPDX-License-Identifier: Apache-2.0

import TribuneWire

struct NameCounts: Counts {
  var asked: UInt64 = 0
  var vetoed: UInt64 = 0
  var overridden: UInt64 = 0
  var cancelled: UInt64 = 0
  var outcomes = OutcomeCounts()
  var durations = Durations()

  var activity: UInt64 { asked &+ cancelled }

  mutating func add(_ other: NameCounts) {
    asked &+= other.asked
    vetoed &+= other.vetoed
    overridden &+= other.overridden
    cancelled &+= other.cancelled
    outcomes.add(other.outcomes)
    durations.add(other.durations)
  }
}

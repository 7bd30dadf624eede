// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The counts of the busiest keys; all others are counted together. So its size has a bound, whatever clients send.
package struct Busiest<Key: Hashable, C: Counts> {
  /// Keys that are listed.
  package static var countMax: Int { 1000 }
  /// More of them than that may come before the least busy ones leave. Those all leave at once, since finding them takes
  /// a look at all.
  private static var slack: Int { 256 }

  private var tallies: [Key: Tally<C>] = [:]
  private let others = Tally<C>()
  /// How many there may be before the least busy ones leave.
  private var limit = Self.countMax + Self.slack

  package init() {}

  /// The tally of a key, which is made if there is none.
  package mutating func tally(of key: Key) -> Tally<C> {
    if let tally = tallies[key] { return tally }
    if tallies.count >= limit { removeLeastBusy() }
    let tally = Tally<C>()
    tallies[key] = tally
    return tally
  }

  private mutating func removeLeastBusy() {
    let activities = tallies.values.map(\.counts.activity).sorted(by: >)
    let least = activities[Self.countMax - 1]
    // Of those that are as busy as the last that stays, any will do.
    var equalCount = activities[..<Self.countMax].count { $0 == least }
    for (key, tally) in tallies where tally.userCount.value == 0 {
      let activity = tally.counts.activity
      if activity == least, equalCount > 0 {
        equalCount -= 1
      } else if activity <= least {
        tally.end(for: others)
        tallies[key] = nil
      }
    }
    // Those in use stay, and have bounds of their own.
    limit = max(Self.countMax, tallies.count) + Self.slack
  }

  /// The busiest keys that something was counted for, the busiest first, and the counts of all others.
  package var all: (busiest: [(key: Key, counts: C)], others: C) {
    let sorted = tallies.lazy.map { (key: $0.key, counts: $0.value.counts) }
      .filter { $0.counts.activity > 0 }
      .sorted { $0.counts.activity > $1.counts.activity }
    var others = others.counts
    for (_, counts) in sorted.dropFirst(Self.countMax) { others.add(counts) }
    return (Array(sorted.prefix(Self.countMax)), others)
  }

  func beginCounting() {
    for tally in tallies.values { tally.counts = C() }
    others.counts = C()
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The counts of the busiest keys; all others are counted together. So its size has a bound, whatever clients send.
///
/// Those that stay are the first in the order of `inShares`.
package struct Busiest<Key: Hashable, C: Counts> {
  /// Keys that are listed.
  package static var countMax: Int { 1000 }
  /// More of them than that may come before the least busy ones leave. Those all leave at once, since finding them takes
  /// a look at all.
  private static var slack: Int { 256 }

  private var tallies: [Key: Tally<C>] = [:]
  private let others = Tally<C>(for: .max)
  /// How many there may be before the least busy ones leave.
  private var limit = Self.countMax + Self.slack

  package init() {}

  /// The tally of a key, which is made if there is none.
  ///
  /// - Parameter uid: the user for whom it is made. What root uses becomes root's.
  package mutating func tally(of key: Key, for uid: UInt32) -> Tally<C> {
    if let tally = tallies[key] {
      if uid == 0 { tally.uid.value = 0 }
      return tally
    }
    if tallies.count >= limit { removeLast() }
    let tally = Tally<C>(for: uid)
    tallies[key] = tally
    return tally
  }

  private mutating func removeLast() {
    for (key, tally) in ranked.dropFirst(Self.countMax) where tally.userCount.value == 0 {
      tally.end(for: others)
      tallies[key] = nil
    }
    // Those in use stay, and have bounds of their own.
    limit = max(Self.countMax, tallies.count) + Self.slack
  }

  /// All, with those first that stay.
  private var ranked: [(key: Key, tally: Tally<C>)] {
    tallies.map { (key: $0, tally: $1) }.inShares { ($0.tally.uid.value, $0.tally.counts.activity) }
  }

  /// The busiest keys that something was counted for, the busiest first, and the counts of all others.
  package var all: (busiest: [(key: Key, counts: C)], others: C) {
    let counted = ranked.map { (key: $0.key, counts: $0.tally.counts) }.filter { $0.counts.activity > 0 }
    var others = others.counts
    for (_, counts) in counted.dropFirst(Self.countMax) { others.add(counts) }
    return (counted.prefix(Self.countMax).sorted { $0.counts.activity > $1.counts.activity }, others)
  }

  func beginCounting() {
    for tally in tallies.values { tally.counts = C() }
    others.counts = C()
  }
}

extension Array {
  /// The busiest first, with a share for each user: its busiest comes before anybody's second. Those of root, which has the
  /// host's, come before all.
  package func inShares(_ facts: (Element) -> (uid: UInt32, activity: UInt64)) -> [Element] {
    var ranks: [UInt32: Int] = [:]
    return map { (element: $0, facts: facts($0)) }
      .sorted { $0.facts.activity > $1.facts.activity }
      .map { element, facts in
        let rank = ranks[facts.uid, default: 0]
        ranks[facts.uid] = rank + 1
        return (element: element, rank: facts.uid == 0 ? -1 : rank, activity: facts.activity)
      }
      .sorted { ($0.rank, $1.activity) < ($1.rank, $0.activity) }
      .map(\.element)
  }
}

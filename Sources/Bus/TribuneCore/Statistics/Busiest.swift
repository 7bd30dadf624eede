// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Counts by key in bounded memory. The keys that come first in the order of `inShares` have a tally each.
/// All other keys share one tally.
package struct Busiest<Key: Hashable, C: Counts> {
  package static var countMax: Int { 1000 }
  /// Eviction must rank all keys. So that it is rare, it removes this many keys at once.
  private static var slack: Int { 256 }

  private var tallies: [Key: Tally<C>] = [:]
  private let others = Tally<C>(for: .max)
  private var limit = Self.countMax + Self.slack

  package init() {}

  /// - Parameter uid: the user of a new key, for the order of `inShares`. Keys that root uses become root's.
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
    // Tallies with a `userCount` other than 0 stay. The limit on registrations bounds their number.
    limit = max(Self.countMax, tallies.count) + Self.slack
  }

  private var ranked: [(key: Key, tally: Tally<C>)] {
    tallies.map { (key: $0, tally: $1) }.inShares { ($0.tally.uid.value, $0.tally.counts.activity) }
  }

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
  /// Each user's busiest element comes before any user's second one. All elements of root come first.
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

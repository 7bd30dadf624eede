// SPDX-License-Identifier: Apache-2.0

/// A set of indices of a verdict's outcomes. Nearly every verdict has at most 64 outcomes, for which the set is one
/// word and no allocation.
package struct OutcomePlaces: Equatable, Sendable {
  private var first: UInt64 = 0
  /// 64 indices each, from 64 on.
  private var others: [UInt64] = []
  package private(set) var count = 0

  package init(_ places: some Sequence<Int> = []) {
    for place in places { insert(place) }
  }

  /// - Parameter place: an index from 0 on, not in the set yet.
  package mutating func insert(_ place: Int) {
    precondition(place >= 0 && !contains(place), "index \(place) is negative, or already in the set")
    count += 1
    let bit: UInt64 = 1 << UInt64(place % 64)
    if place < 64 {
      first |= bit
    } else {
      let index = place / 64 - 1
      while others.count <= index { others.append(0) }
      others[index] |= bit
    }
  }

  package func contains(_ place: Int) -> Bool {
    let index = place / 64 - 1
    guard index < others.count else { return false }
    let word = index < 0 ? first : others[index]
    return word & 1 << UInt64(place % 64) != 0
  }
}

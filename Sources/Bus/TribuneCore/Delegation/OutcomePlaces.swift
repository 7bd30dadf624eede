// SPDX-License-Identifier: Apache-2.0

/// A set of indices of a verdict's outcomes. It does not allocate memory for indices up to 63.
package struct OutcomePlaces: Equatable, Sendable {
  private var first: UInt64 = 0
  private var others: [UInt64] = []
  package private(set) var count = 0

  package init(_ places: some Sequence<Int> = []) {
    for place in places { insert(place) }
  }

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

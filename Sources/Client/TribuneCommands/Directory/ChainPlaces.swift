// SPDX-License-Identifier: Apache-2.0

/// Assigns `order` values to sorted keys, with gaps for keys that are inserted later.
struct ChainPlaces<Key: Hashable & Comparable & Sendable>: Sendable {
  static var spacing: Int64 { 1 << 16 }

  private var places: [(key: Key, order: Int32)] = []

  init() {}

  init(_ keys: some Collection<Key>) {
    let most = (Int64(Int32.max) - Int64(Int32.min)) / Int64(keys.count + 1)
    precondition(most > 0, "there are more files than positions in a chain")
    let spacing = min(Self.spacing, most)
    let first = -spacing * Int64(keys.count / 2)
    places = keys.sorted().enumerated().map { ($1, Int32(first + spacing * Int64($0))) }
  }

  var keys: [Key] { places.map(\.key) }

  func order(of key: Key) -> Int32? {
    let index = index(of: key)
    return index < places.count && places[index].key == key ? places[index].order : nil
  }

  private func index(of key: Key) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Inserts a key. Returns nil, and changes nothing, if no value is free at the key's place.
  mutating func insert(_ key: Key) -> Int32? {
    let index = index(of: key)
    let before = index > 0 ? Int64(places[index - 1].order) : nil
    let after = index < places.count ? Int64(places[index].order) : nil
    let order =
      switch (before, after) {
      case (nil, nil): Int64(0)
      case (let before?, nil): before + Self.spacing
      case (nil, let after?): after - Self.spacing
      case (let before?, let after?): before + (after - before) / 2
      }
    guard order != before, let place = Int32(exactly: order) else { return nil }
    places.insert((key, place), at: index)
    return place
  }

  mutating func remove(_ key: Key) {
    places.removeAll { $0.key == key }
  }
}

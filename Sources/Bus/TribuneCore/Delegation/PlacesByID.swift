// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The places (indices) in `QueryTable` of the queries under way, by id.
///
/// Ids are sequential, and most queries end soon. So the last bits of an id select an entry, without a hash.
/// If an older query still occupies that entry, the new query goes into a dictionary.
package struct PlacesByID {
  private struct Entry {
    var id: UInt64 = 0
    /// Negative if the entry is free.
    var place = -1
  }

  /// Must be a power of two.
  private static let entryCount = 256

  private var entries: [Entry] = []
  /// The key is an integer instead of a `QueryID`. A type from another module would be hashed through its
  /// witness table, at half the speed.
  private var others: [UInt64: Int] = [:]
  package private(set) var count = 0

  package init() {}

  package subscript(id: QueryID) -> Int? {
    get {
      let index = Self.index(of: id)
      if index < entries.count, entries[index].id == id.rawValue, entries[index].place >= 0 {
        return entries[index].place
      }
      return others.isEmpty ? nil : others[id.rawValue]
    }
    set {
      if let newValue { insert(id, newValue) } else { remove(id) }
    }
  }

  package var inOrder: [Int] {
    var all = entries.filter { $0.place >= 0 }
    all += others.map { Entry(id: $0.key, place: $0.value) }
    return all.sorted { $0.id < $1.id }.map(\.place)
  }

  private mutating func insert(_ id: QueryID, _ place: Int) {
    if entries.isEmpty { entries = [Entry](repeating: Entry(), count: Self.entryCount) }
    count += 1
    let index = Self.index(of: id)
    if entries[index].place < 0 {
      entries[index] = Entry(id: id.rawValue, place: place)
    } else {
      others[id.rawValue] = place
    }
  }

  private mutating func remove(_ id: QueryID) {
    let index = Self.index(of: id)
    if index < entries.count, entries[index].id == id.rawValue, entries[index].place >= 0 {
      entries[index].place = -1
      count -= 1
    } else if others.removeValue(forKey: id.rawValue) != nil {
      count -= 1
    }
  }

  private static func index(of id: QueryID) -> Int { Int(truncatingIfNeeded: id.rawValue) & (entryCount - 1) }
}

// SPDX-License-Identifier: Apache-2.0

/// A dictionary that usually has at most one entry. The first entry needs neither allocation nor hash. The
/// dictionary frees excess capacity.
struct SmallDictionary<Key: Hashable, Value> {
  private var first: (key: Key, value: Value)?
  private var others: [Key: Value] = [:]

  var isEmpty: Bool { first == nil && others.isEmpty }
  var count: Int { (first == nil ? 0 : 1) + others.count }

  subscript(key: Key) -> Value? {
    get {
      if let first, first.key == key { return first.value }
      return others.isEmpty ? nil : others[key]
    }
    set { change(key) { $0 = newValue } }
  }

  /// Changes the value in place, without a copy. If `body` sets the value to nil, this removes the entry.
  mutating func change(_ key: Key, _ body: (inout Value?) -> Void) {
    if first?.key == key || (first == nil && others[key] == nil) {
      var value = first?.value
      first = nil
      body(&value)
      first = value.map { (key, $0) }
    } else {
      body(&others[key])
      others.trim()
    }
  }

  func visit(_ body: (Key, Value) -> Void) {
    if let first { body(first.key, first.value) }
    if others.isEmpty { return }
    for (key, value) in others { body(key, value) }
  }

  var entries: [(key: Key, value: Value)] { (first.map { [$0] } ?? []) + others.map { ($0, $1) } }
  var values: [Value] { entries.map(\.value) }

  var any: Value? { first?.value ?? others.first?.value }
}

extension Dictionary {
  mutating func trim() {
    guard capacity > 64, count < capacity / 8 else { return }
    self = Dictionary(uniqueKeysWithValues: Array(self))
  }
}

// SPDX-License-Identifier: Apache-2.0

/// A cache of recent values. It drops the oldest in batches of `countMax`, so it holds at most two batches.
nonisolated package struct RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let countMax: Int
  private var recent: [Key: Value] = [:]
  private var older: [Key: Value] = [:]

  package init(countMax: Int) { self.countMax = countMax }

  package subscript(key: Key) -> Value? { recent[key] ?? older[key] }

  package mutating func set(_ value: Value, for key: Key) {
    if recent.count >= countMax, recent[key] == nil { (older, recent) = (recent, [:]) }
    recent[key] = value
  }

  package mutating func remove(_ key: Key) -> Value? {
    recent.removeValue(forKey: key) ?? older.removeValue(forKey: key)
  }
}

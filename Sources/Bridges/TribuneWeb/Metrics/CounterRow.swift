// SPDX-License-Identifier: Apache-2.0

/// What the bus counts about a name, a participant or a user.
nonisolated package struct CounterRow: Equatable, Sendable {
  /// The values of the labels; empty for all together that have no row of their own.
  package var labels: [String]
  /// Connections at the moment, which are no counter.
  package var connections = 0
  package var counts: [Int]

  package init(labels: [String] = [], connections: Int = 0, counts: [Int] = []) {
    (self.labels, self.connections, self.counts) = (labels, connections, counts)
  }

  var isOthers: Bool { labels.isEmpty }

  /// Computes each counter with that of another row.
  mutating func combine(_ other: CounterRow, _ operation: (Int, Int) -> Int) {
    counts += repeatElement(0, count: max(0, other.counts.count - counts.count))
    for (index, count) in other.counts.enumerated() { counts[index] = operation(counts[index], count) }
  }

  /// All of some rows together.
  static func sum(_ rows: some Sequence<CounterRow>) -> CounterRow {
    rows.reduce(into: CounterRow()) { sum, row in
      sum.connections += row.connections
      sum.combine(row, +)
    }
  }
}

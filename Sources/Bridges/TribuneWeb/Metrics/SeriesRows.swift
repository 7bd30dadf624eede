// SPDX-License-Identifier: Apache-2.0

/// The time series made from rows of counters. The first rows have a series each, and all others share one.
/// Prometheus assumes that a counter that falls has restarted from 0. Therefore, the shared series adds up
/// increments, and does not fall when a row gets its own series.
nonisolated package struct SeriesRows<Row: CounterRow>: Sendable {
  package private(set) var own: [Row] = []
  package private(set) var others: Row?
  /// The sum of the rows in the latest list that have no series of their own.
  private(set) var rest: Row?
  private var wasTaken = false

  package init() {}

  /// The first `countMax` rows get their own series, but never the row without labels (`CounterRow.labels`).
  package mutating func take(_ rows: [Row], max countMax: Int) {
    let (before, listed) = (Set(own.map(\.labels)), Set(rows.map(\.labels)))
    // The growth, since the last list, of the rows that had no series of their own.
    var change: Row?
    for row in rows where !before.contains(row.labels) { Self.add(row, to: &change) }
    for row in own where !listed.contains(row.labels) { Self.add(row, times: -1, to: &change) }
    if let rest { Self.add(rest, times: -1, to: &change) }

    own = Array(rows.lazy.filter { !$0.labels.isEmpty }.prefix(countMax))
    let first = Set(own.map(\.labels))
    rest = nil
    for row in rows where !first.contains(row.labels) { Self.add(row, to: &rest) }
    // The first list has no predecessor, so the shared series starts with `rest`.
    if others != nil || rest != nil, let added = wasTaken ? change : rest { Self.add(added, to: &others) }
    wasTaken = true
  }

  private static func add(_ row: Row, times factor: Int = 1, to sum: inout Row?) {
    var added = sum ?? row.zero
    added.add(row, times: factor)
    sum = added
  }
}

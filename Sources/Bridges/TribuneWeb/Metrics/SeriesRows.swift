// SPDX-License-Identifier: Apache-2.0

/// A list of counters of the bus as time series: its first rows have their own, and all others have one together.
///
/// Prometheus takes a counter that falls for one that has begun anew, and counts all of it once more. So that of the others
/// gets what is counted among them: a row that becomes busy, and leaves them, or that comes to them, changes nothing.
nonisolated package struct SeriesRows<Row: CounterRow>: Sendable {
  /// In the order of the list.
  package private(set) var own: [Row] = []
  /// Nil if there have never been any.
  package private(set) var others: Row?
  /// The rows that had no series of their own when the list was last taken, together.
  private(set) var rest: Row?
  private var wasTaken = false

  package init() {}

  /// - Parameters:
  ///   - rows: the list, with those first that are to have series of their own. What the bus does not list any more, it adds
  ///     to the row of its own others.
  ///   - countMax: time series of their own.
  package mutating func take(_ rows: [Row], max countMax: Int) {
    let (before, listed) = (Set(own.map(\.labels)), Set(rows.map(\.labels)))
    // What those have counted since then that had no series of their own.
    var change: Row?
    for row in rows where !before.contains(row.labels) { Self.add(row, to: &change) }
    for row in own where !listed.contains(row.labels) { Self.add(row, times: -1, to: &change) }
    if let rest { Self.add(rest, times: -1, to: &change) }

    own = Array(rows.lazy.filter { !$0.labels.isEmpty }.prefix(countMax))
    let first = Set(own.map(\.labels))
    rest = nil
    for row in rows where !first.contains(row.labels) { Self.add(row, to: &rest) }
    // At first, there is nothing that it could fall behind.
    if others != nil || rest != nil, let added = wasTaken ? change : rest { Self.add(added, to: &others) }
    wasTaken = true
  }

  private static func add(_ row: Row, times factor: Int = 1, to sum: inout Row?) {
    var added = sum ?? row.zero
    added.add(row, times: factor)
    sum = added
  }
}

// SPDX-License-Identifier: Apache-2.0

/// A list of counters of the bus as time series: its first rows have their own, and all others have one together.
///
/// Prometheus takes a counter that falls for one that has begun anew, and counts all of it once more. So that of the others
/// gets what is counted among them: a row that becomes busy, and leaves them, or that comes to them, changes nothing.
nonisolated package struct SeriesRows: Sendable {
  /// In the order of the list.
  package private(set) var own: [CounterRow] = []
  /// Nil if there have never been any.
  package private(set) var others: CounterRow?
  /// The rows that had no series of their own when the list was last taken, together.
  private var rest: CounterRow?

  package init() {}

  /// - Parameters:
  ///   - rows: the list, with those first that are to have series of their own. What the bus does not list any more, it adds
  ///     to the row of its own others.
  ///   - countMax: time series of their own.
  package mutating func take(_ rows: [CounterRow], max countMax: Int) {
    let before = Set(own.map(\.labels))
    let listed = Set(rows.map(\.labels))
    // What those have counted since then that had no series of their own.
    var change = CounterRow.sum(rows.lazy.filter { !before.contains($0.labels) })
    change.combine(.sum(own.lazy.filter { !listed.contains($0.labels) }), -)
    if let rest { change.combine(rest, -) }

    own = Array(rows.lazy.filter { !$0.isOthers }.prefix(countMax))
    let first = Set(own.map(\.labels))
    let rest = rows.filter { !first.contains($0.labels) }
    let sum = CounterRow.sum(rest)
    if others != nil || !rest.isEmpty {
      var counted = others ?? CounterRow()
      counted.connections = sum.connections
      // At first, there is nothing that it could fall behind.
      counted.combine(self.rest == nil ? sum : change) { $0 + max(0, $1) }
      others = counted
    }
    self.rest = sum
  }
}

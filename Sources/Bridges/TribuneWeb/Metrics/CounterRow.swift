// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// Counters of a name, a participant or a user.
nonisolated package protocol CounterRow: Sendable {
  /// The values of the labels; empty for the row in which the bus combines all unlisted entries.
  var labels: [String] { get }

  mutating func add(_ other: Self, times factor: Int)
}

nonisolated extension CounterRow {
  var zero: Self {
    var row = self
    row.add(self, times: -1)
    return row
  }
}

nonisolated extension NameStatistics: CounterRow {
  package var labels: [String] { name.map { [$0] } ?? [] }

  package mutating func add(_ other: NameStatistics, times factor: Int) {
    asked += factor * other.asked
    vetoed += factor * other.vetoed
    overridden += factor * other.overridden
    cancelled += factor * other.cancelled
    outcomes.add(other.outcomes, times: factor)
    durations.add(other.durations, times: factor)
  }
}

nonisolated extension ParticipantStatistics: CounterRow {
  package var labels: [String] { uid.map { [role.rawValue, label, unit, "\($0)"] } ?? [] }

  package mutating func add(_ other: ParticipantStatistics, times factor: Int) {
    outcomes.add(other.outcomes, times: factor)
    durations.add(other.durations, times: factor)
  }
}

nonisolated extension UserStatistics: CounterRow {
  package var labels: [String] { uid.map { ["\($0)", unit] } ?? [] }

  package mutating func add(_ other: UserStatistics, times factor: Int) {
    connections += factor * other.connections
    posted += factor * other.posted
    postedBytes += factor * other.postedBytes
    delivered += factor * other.delivered
    lost += factor * other.lost
    asked += factor * other.asked
    denied += factor * other.denied
    refused += factor * other.refused
  }
}

nonisolated extension OutcomeCounts {
  static var all: KeyValuePairs<String, WritableKeyPath<OutcomeCounts, Int>> {
    [
      "approved": \.approved, "vetoed": \.vetoed, "abstained": \.abstained, "timed_out": \.timedOut,
      "gone": \.gone, "failed": \.failed, "held": \.held, "answered": \.answered,
    ]
  }

  fileprivate mutating func add(_ other: OutcomeCounts, times factor: Int) {
    for (_, path) in Self.all { self[keyPath: path] += factor * other[keyPath: path] }
  }
}

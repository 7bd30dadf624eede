// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// The bus's counters, for Prometheus.
nonisolated package struct BusCounters: Sendable {
  package private(set) var status: BusStatus?
  /// The time at which the bus started, in seconds since 1970.
  package private(set) var startSeconds = 0
  package private(set) var names = SeriesRows<NameStatistics>()
  package private(set) var participants = SeriesRows<ParticipantStatistics>()
  package private(set) var users = SeriesRows<UserStatistics>()
  /// Patterns with the age of their oldest hold.
  package private(set) var oldestHolds: [(pattern: String, age: Duration)] = []
  /// The age of the oldest hold of all other patterns.
  package private(set) var oldestOtherHold: Duration?

  package init() {}

  /// Takes a status, and its time in microseconds since 1970. Returns true for the first status of a daemon.
  @discardableResult
  package mutating func update(with status: BusStatus, at microseconds: UInt64) -> Bool {
    let isNew = self.status.flatMap { BusGrowth(from: $0, to: status) } == nil
    if isNew { self = BusCounters() }
    let start = Int((Double(microseconds) / 1e6 - status.uptime / .seconds(1)).rounded())
    // `start` is computed from two clocks, whose jitter must not change the metric.
    if (start - startSeconds).magnitude > 1 { startSeconds = start }
    self.status = status
    return isNew
  }

  package mutating func update(with lists: BusSnapshot, max countMax: Int) {
    names.take(lists.names, max: countMax)
    participants.take(Self.inTurns(lists.participants, of: \.uid), max: countMax)
    users.take(Self.inTurns(lists.users, of: \.uid), max: countMax)
    take(lists.holds, max: countMax)
  }

  private mutating func take(_ holds: [HoldInfo], max countMax: Int) {
    var oldest: [String: HoldInfo] = [:]
    for hold in holds where oldest[hold.pattern].map({ $0.age < hold.age }) ?? true {
      oldest[hold.pattern] = hold
    }
    let byAge = oldest.values.sorted { ($1.age, $0.pattern) < ($0.age, $1.pattern) }
    let rows = Self.inTurns(byAge) { $0.uid }
    oldestHolds = rows.prefix(countMax).map { ($0.pattern, $0.age) }
    oldestOtherHold = rows.dropFirst(countMax).map(\.age).max()
  }

  /// Returns each user's first row, then each user's second row, and so on. So a user with many rows cannot
  /// displace other users' rows.
  private static func inTurns<Row>(_ rows: [Row], of user: (Row) -> UInt32?) -> [Row] {
    var turns: [UInt32?: Int] = [:]
    return rows.enumerated().map { place, row in
      let turn = turns[user(row), default: 0]
      turns[user(row)] = turn + 1
      return (turn: turn, place: place, row: row)
    }.sorted { ($0.turn, $0.place) < ($1.turn, $1.place) }.map(\.row)
  }
}

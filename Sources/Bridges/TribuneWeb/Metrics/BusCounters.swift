// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// What the bus has counted since its start, for Prometheus.
nonisolated package struct BusCounters: Sendable {
  /// Nil until the bus was asked.
  package private(set) var status: BusStatus?
  /// When the bus started, in seconds since 1970.
  package private(set) var startSeconds = 0
  package private(set) var names = SeriesRows<NameStatistics>()
  package private(set) var participants = SeriesRows<ParticipantStatistics>()
  package private(set) var users = SeriesRows<UserStatistics>()

  package init() {}

  /// - Parameter microseconds: the time, since 1970.
  /// - Returns: whether the bus has begun anew, with all its counters.
  @discardableResult
  package mutating func note(_ status: BusStatus, at microseconds: UInt64) -> Bool {
    let isNew = self.status.flatMap { BusGrowth(from: $0, to: status) } == nil
    if isNew { self = BusCounters() }
    let start = Int((Double(microseconds) / 1e6 - status.uptime / .seconds(1)).rounded())
    // It is computed from two clocks, and must not tremble.
    if (start - startSeconds).magnitude > 1 { startSeconds = start }
    self.status = status
    return isNew
  }

  /// - Parameter countMax: rows of each list that have time series of their own.
  package mutating func note(_ lists: BusSnapshot, max countMax: Int) {
    names.take(lists.names, max: countMax)
    participants.take(Self.inTurns(lists.participants, of: \.uid), max: countMax)
    users.take(Self.inTurns(lists.users, of: \.uid), max: countMax)
  }

  /// The first row of each user, then the second of each, and so on: no user's many rows take the places of others.
  private static func inTurns<Row>(_ rows: [Row], of user: (Row) -> UInt32?) -> [Row] {
    var turns: [UInt32?: Int] = [:]
    return rows.enumerated().map { place, row in
      let turn = turns[user(row), default: 0]
      turns[user(row)] = turn + 1
      return (turn: turn, place: place, row: row)
    }.sorted { ($0.turn, $0.place) < ($1.turn, $1.place) }.map(\.row)
  }
}

// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// What the bus has counted, for Prometheus: no counter falls as long as the bus continues with its counters.
nonisolated package struct BusCounters: Sendable {
  /// Nil until the bus was asked.
  package private(set) var status: BusStatus?
  /// When the bus started, in seconds since 1970.
  package private(set) var startSeconds = 0
  package private(set) var names = SeriesRows()
  package private(set) var participants = SeriesRows()
  package private(set) var users = SeriesRows()
  /// The latest connection that the bus is known to have had.
  private var latestConnection: UInt64 = 0

  package init() {}

  /// A connection of the bus, `:N`. If its number is no new one for a new connection, the bus has begun anew, with its counters
  /// as with its numbers.
  ///
  /// - Parameter isNew: whether it was made after all those before.
  package mutating func note(connection: String, isNew: Bool) {
    let number = UInt64(connection.dropFirst()) ?? 0
    if isNew, number <= latestConnection { self = BusCounters() }
    latestConnection = max(latestConnection, number)
  }

  /// - Parameter microseconds: the time, since 1970.
  package mutating func note(_ status: BusStatus, at microseconds: UInt64) {
    let start = Int((Double(microseconds) / 1e6 - status.uptime / .seconds(1)).rounded())
    // It is computed from two clocks, and must not tremble.
    if (start - startSeconds).magnitude > 1 { startSeconds = start }
    var raised = status
    if let last = self.status {
      for path in Self.counters { raised[keyPath: path] = max(raised[keyPath: path], last[keyPath: path]) }
    }
    self.status = raised
  }

  /// - Parameter countMax: rows of each list that have time series of their own.
  package mutating func note(
    names: [NameStatistics], participants: [ParticipantStatistics], users: [UserStatistics], max countMax: Int
  ) {
    self.names.take(names.map { CounterRow($0) }, max: countMax)
    self.participants.take(Self.inTurns(participants, of: \.uid).map { CounterRow($0) }, max: countMax)
    self.users.take(Self.inTurns(users, of: \.uid).map { CounterRow($0) }, max: countMax)
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

  /// Those that continue over a restart. The others begin with each start.
  private static var counters: [WritableKeyPath<BusStatus, Int>] {
    [\.posted, \.delivered, \.lost, \.asked, \.vetoed, \.denied, \.refused, \.postedBytes]
  }
}

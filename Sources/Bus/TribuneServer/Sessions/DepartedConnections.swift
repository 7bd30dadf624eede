// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A closed connection's final state.
nonisolated struct DepartedConnection {
  var id: ConnectionID
  var peer: PeerIdentity
  var connected: Instant
  var left: Instant
  /// The error with which the bus dismissed the client; nil if the connection ended without one.
  var reason: ErrorCode?
  var traffic: TrafficCounts
  var inherited = TrafficCounts()
}

/// Connections that closed in the last minute, at most `countMax`.
nonisolated struct DepartedConnections {
  static let countMax = 1024
  private static let keptNanoseconds: UInt64 = 60_000_000_000

  /// Entries before index `first` no longer count. `remember` removes many of them at once.
  private var connections: [DepartedConnection] = []
  private var first = 0

  /// Includes entries that no longer count.
  var storedCount: Int { connections.count }

  mutating func remember(_ connection: DepartedConnection) {
    connections.append(connection)
    while connections.count - first > Self.countMax || !isKept(connections[first], at: connection.left) {
      first += 1
    }
    guard first >= Self.countMax else { return }
    connections.removeFirst(first)
    first = 0
  }

  func all(at now: Instant) -> some Sequence<DepartedConnection> {
    connections[first...].lazy.filter { isKept($0, at: now) }
  }

  /// Searches linearly, because calls are rare.
  func connection(_ id: ConnectionID, at now: Instant) -> DepartedConnection? {
    connections[first...].last { $0.id == id && isKept($0, at: now) }
  }

  private func isKept(_ connection: DepartedConnection, at now: Instant) -> Bool {
    now.nanoseconds(since: connection.left) <= Self.keptNanoseconds
  }
}

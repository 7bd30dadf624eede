// SPDX-License-Identifier: Apache-2.0

/// A bus's status at a moment, and the lists that the program read after the status.
package struct BusSnapshot: Sendable {
  package enum List: Sendable {
    case connections, delegates, holds, actions, queries, names, participants, users
  }

  package var moment: ContinuousClock.Instant
  package var status: BusStatus
  package var connections: [ConnectionInfo] = []
  package var delegates: [DelegateInfo] = []
  package var holds: [HoldInfo] = []
  package var actions: [ActionInfo] = []
  package var queries: [QueryInfo] = []
  package var names: [NameStatistics] = []
  package var participants: [ParticipantStatistics] = []
  package var users: [UserStatistics] = []

  package init(_ status: BusStatus, at moment: ContinuousClock.Instant = .now) {
    (self.status, self.moment) = (status, moment)
  }

  package init(of bus: Connection, _ lists: List...) async throws(TribuneError) {
    self.init(try await bus.status())
    try await read(lists, from: bus)
  }

  package mutating func read(_ lists: [List], from bus: Connection) async throws(TribuneError) {
    for list in lists {
      switch list {
      case .connections: connections = try await bus.connections()
      case .delegates: delegates = try await bus.delegates()
      case .holds: holds = try await bus.holds()
      case .actions: actions = try await bus.actions()
      case .queries: queries = try await bus.queries()
      case .names: names = try await bus.nameStatistics()
      case .participants: participants = try await bus.participantStatistics()
      case .users: users = try await bus.userStatistics()
      }
    }
  }
}

/// The growth of a bus's counters between two statuses.
package struct BusGrowth: Equatable, Sendable {
  package private(set) var posted = 0
  package private(set) var delivered = 0
  package private(set) var lost = 0
  package private(set) var asked = 0
  package private(set) var vetoed = 0
  package private(set) var busy = Duration.zero

  package init() {}

  /// Nil if the later status is from another daemon. Comparing the pids is not enough: in a container, the
  /// next daemon can have the same pid.
  package init?(from earlier: BusStatus, to later: BusStatus) {
    guard later.pid == earlier.pid, later.uptime >= earlier.uptime else { return nil }
    (posted, delivered) = (later.posted - earlier.posted, later.delivered - earlier.delivered)
    (lost, busy) = (later.lost - earlier.lost, later.busy - earlier.busy)
    (asked, vetoed) = (later.asked - earlier.asked, later.vetoed - earlier.vetoed)
    guard min(posted, delivered, lost, asked, vetoed) >= 0, busy >= .zero else { return nil }
  }

  package mutating func add(_ other: BusGrowth) {
    (posted, delivered) = (posted + other.posted, delivered + other.delivered)
    (lost, busy) = (lost + other.lost, busy + other.busy)
    (asked, vetoed) = (asked + other.asked, vetoed + other.vetoed)
  }
}

// SPDX-License-Identifier: Apache-2.0

/// How much is measured.
struct Effort: Codable, Equatable, Sendable {
  var rounds: Int
  /// Turns of a subject in a round, where trips are timed. They are many and short, because a turn's figures depend
  /// most on where the scheduler has placed client and server when it starts.
  var tripTurns: Int
  /// Trips in one turn.
  var trips: Int
  /// Processes in one turn.
  var processes: Int
  /// Lines of a file.
  var lines: Int
  /// How long an idle daemon is watched.
  var restMilliseconds: Int
  /// Asks in one turn through a chain of 100.
  var chainAsks: Int
  /// Turns of a subject in a round, where rates are measured.
  var rateTurns: Int
  /// The length of such a turn; 0 for `quickSteps`, however long they take.
  var rateTurnMilliseconds: Int
  /// Posts a second beside which asks are measured.
  var backgroundRate: UInt64
  /// Posters, as many observers, and the names of the mixed work.
  var mixedClients: Int
  var mixedNames: Int
  /// The other clients beside which posts are measured.
  var bystanders: Crowd
  /// Idle connections beside which posts are measured.
  var idleConnections: Int
  /// Idle connections whose memory is measured, on another daemon.
  var weighedConnections: Int
  /// The greatest number at which growth is measured, over observers, observations, connections and delegates.
  var growthMax: Int
  /// The greatest message at which growth is measured, in bytes.
  var payloadMax: Int
  /// Whether the figures mean anything.
  var isTimed: Bool

  /// The most open descriptors.
  var descriptors: Int {
    max(2 * bystanders.connections + idleConnections + weighedConnections, min(growthMax, 10_000)) + 500
  }

  static let quickSteps = 10

  static let full = Effort(
    rounds: 3, tripTurns: 11, trips: 300, processes: 10, lines: 300_000, restMilliseconds: 3_000,
    chainAsks: 30, rateTurns: 3,
    rateTurnMilliseconds: 300,
    backgroundRate: 100_000, mixedClients: 100, mixedNames: 1_000,
    bystanders: Crowd(connections: 1_000, observationsEach: 100), idleConnections: 10_000,
    weighedConnections: 5_000,
    growthMax: 100_000, payloadMax: 16 << 20, isTimed: true)
  static let quick = Effort(
    rounds: 1, tripTurns: 1, trips: 50, processes: 3, lines: 1_000, restMilliseconds: 200, chainAsks: 3,
    rateTurns: 1,
    rateTurnMilliseconds: 0,
    backgroundRate: 10_000, mixedClients: 10, mixedNames: 100,
    bystanders: Crowd(connections: 20, observationsEach: 40), idleConnections: 200,
    weighedConnections: 200, growthMax: 1_000,
    payloadMax: 1 << 20, isTimed: false)
}

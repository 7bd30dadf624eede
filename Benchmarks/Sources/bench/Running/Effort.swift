// SPDX-License-Identifier: Apache-2.0

/// How much is measured.
struct Effort: Codable, Equatable, Sendable {
  var rounds: Int
  /// Turns that a subject has in a round, where trips are timed: many short ones, since how a scheduler has
  /// placed client and server at a turn's start decides its figures more than anything else.
  var tripTurns: Int
  /// Trips in one turn.
  var trips: Int
  /// Processes in one turn.
  var processes: Int
  /// How long it is looked on while nothing happens.
  var restMilliseconds: Int
  /// Asks in one turn through a chain of 100.
  var chainAsks: Int
  /// Turns that a subject has in a round, where what gets through is counted.
  var rateTurns: Int
  /// How long such a turn is to last; 0 for `quickSteps`, however long they last.
  var rateTurnMilliseconds: Int
  /// Posts a second beside which asks are measured.
  var backgroundRate: UInt64
  /// Posters and observers that all post and observe at once, and the names that they do it with.
  var mixedClients: Int
  var mixedNames: Int
  /// Who is there while posts are measured that are compared with those on a bus where nobody is.
  var bystanders: Crowd
  /// Connections that do nothing.
  var idleConnections: Int
  /// Others like these, on a daemon of their own, whose memory is measured.
  var weighedConnections: Int
  /// The greatest number at which growth is measured, over observers, observations, connections and delegates.
  var growthMax: Int
  /// Likewise, over the bytes of a message.
  var payloadMax: Int
  /// Whether the figures mean anything.
  var isTimed: Bool

  /// Descriptors that are open at a time, and some for everything else.
  var descriptors: Int {
    max(2 * bystanders.connections + idleConnections + weighedConnections, min(growthMax, 10_000)) + 500
  }

  static let quickSteps = 10

  static let full = Effort(
    rounds: 3, tripTurns: 11, trips: 300, processes: 10, restMilliseconds: 3_000, chainAsks: 30, rateTurns: 3,
    rateTurnMilliseconds: 300,
    backgroundRate: 100_000, mixedClients: 100, mixedNames: 1_000,
    bystanders: Crowd(connections: 1_000, observationsEach: 100), idleConnections: 10_000,
    weighedConnections: 5_000,
    growthMax: 100_000, payloadMax: 16 << 20, isTimed: true)
  static let quick = Effort(
    rounds: 1, tripTurns: 1, trips: 50, processes: 3, restMilliseconds: 200, chainAsks: 3, rateTurns: 1,
    rateTurnMilliseconds: 0,
    backgroundRate: 10_000, mixedClients: 10, mixedNames: 100,
    bystanders: Crowd(connections: 20, observationsEach: 40), idleConnections: 200,
    weighedConnections: 200, growthMax: 100,
    payloadMax: 1 << 20, isTimed: false)
}

// SPDX-License-Identifier: Apache-2.0

/// How much is measured.
struct Effort: Codable, Equatable {
  /// Rounds of round trips: many short ones, since how a scheduler has placed client and server at a
  /// round's start decides its figures more than anything else.
  var roundTripRounds: Int
  var roundTrips: Int
  /// Asks through each chain in a round.
  var chainAsks: Int
  var streamRounds: Int
  /// Messages sent in one stream; a multiple of the driver's batch.
  var messages: Int
  /// Posts in a round, one at a time.
  var posts: Int
  /// Who is there while posts are measured that are compared with those on a bus where nobody is.
  var crowd: Crowd
  /// Connections that do nothing, whose memory is measured.
  var idleConnections: Int
  /// Whether the figures mean anything.
  var isTimed: Bool

  /// Descriptors that are open at a time, and some for everything else.
  var descriptors: Int { max(2 * crowd.connections, idleConnections) + 300 }

  static let full = Effort(
    roundTripRounds: 101, roundTrips: 1_000, chainAsks: 50, streamRounds: 7, messages: 512 * 4_000,
    posts: 1_000, crowd: Crowd(connections: 1_000, observationsEach: 100), idleConnections: 10_000,
    isTimed: true)
  static let quick = Effort(
    roundTripRounds: 1, roundTrips: 200, chainAsks: 5, streamRounds: 1, messages: 512 * 40, posts: 200,
    crowd: Crowd(connections: 20, observationsEach: 40), idleConnections: 200, isTimed: false)
}

struct Options {
  static let usage = """
    usage: bench --tribuned=PROGRAM --relay=PROGRAM [--peers=FOLDERS] [--quick] [--json=FILE] | --chains | --compare
      --quick      only checks that all that is sent arrives: few messages, no verdict on the time
      --compare    instead: the bus, the relay and its peers, in turns
      --chains     instead: how an ask grows with its chain, up to 10,000 delegates
      --json=FILE  writes the figures there too
    """

  var tribuned = ""
  var relay = ""
  var effort = Effort.full
  var wantsChains = false
  var wantsComparison = false
  /// Folders with servers that are not installed, separated by colons.
  var peers = ""
  var jsonFile: String?
  var wantsHelp = false

  struct UsageError: Error, CustomStringConvertible {
    var description: String
  }

  init(_ arguments: some Sequence<String>) throws {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      func value() throws -> String {
        if parts.count == 2 { return String(parts[1]) }
        guard let next = rest.popFirst() else { throw UsageError(description: "\(name) needs a value") }
        return next
      }
      switch name {
      case "--tribuned": tribuned = try value()
      case "--relay": relay = try value()
      case "--json": jsonFile = try value()
      case "--quick": effort = .quick
      case "--chains": wantsChains = true
      case "--compare": wantsComparison = true
      case "--peers": peers = try value()
      case "--help", "-h": wantsHelp = true
      default: throw UsageError(description: "unknown option \(argument)")
      }
    }
    guard !wantsChains || jsonFile == nil else {
      throw UsageError(description: "--chains has no figures for --json")
    }
    guard wantsHelp || !(tribuned.isEmpty || relay.isEmpty) else {
      throw UsageError(description: "both --tribuned and --relay are needed")
    }
  }
}

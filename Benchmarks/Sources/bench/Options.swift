// SPDX-License-Identifier: Apache-2.0

/// How much is measured.
struct Effort: Codable, Equatable {
  var rounds: Int
  var roundTrips: Int
  /// Notifications posted in one stream; a multiple of the driver's batch.
  var notifications: Int
  /// Whether the figures mean anything.
  var isTimed: Bool

  static let full = Effort(rounds: 7, roundTrips: 10_000, notifications: 512 * 4_000, isTimed: true)
  static let quick = Effort(rounds: 1, roundTrips: 200, notifications: 512 * 40, isTimed: false)
}

struct Options {
  static let usage = """
    usage: bench --tribuned=PROGRAM --relay=PROGRAM [--quick] [--rounds=N] [--json=FILE]
      --quick      only checks that all that is sent arrives: few messages, no verdict on the time
      --rounds=N   measures everything N times, interleaved (\(Effort.full.rounds))
      --json=FILE  writes the figures there too
    """

  var tribuned = ""
  var relay = ""
  var effort = Effort.full
  var jsonFile: String?
  var wantsHelp = false

  struct UsageError: Error, CustomStringConvertible {
    var description: String
  }

  init(_ arguments: some Sequence<String>) throws {
    var rest = Array(arguments)[...]
    var rounds: Int?
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
      case "--rounds":
        guard let number = Int(try value()), number > 0 else {
          throw UsageError(description: "--rounds needs a number from 1 on")
        }
        rounds = number
      case "--help", "-h": wantsHelp = true
      default: throw UsageError(description: "unknown option \(argument)")
      }
    }
    if let rounds { effort.rounds = rounds }
    guard wantsHelp || !(tribuned.isEmpty || relay.isEmpty) else {
      throw UsageError(description: "both --tribuned and --relay are needed")
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The limits of each connection, the totals that all users share, and time limits.
package struct BusLimits: Equatable, Sendable {
  /// The number of observations, monitors and declarations of a connection.
  package var observationsMax = 4096
  /// The number of tokens (parts between dots) in the patterns of a connection's observations and monitors.
  /// In the worst case, the bus compares a name with all these tokens to find its receivers.
  package var observationTokensMax: Int { max(32_768, 8 * observationsMax) }
  /// The number of delegates and holds of a connection.
  package var delegatesMax = 4096
  /// The number of patterns of a connection's delegates. When the connection ends, the bus removes all these
  /// patterns at once. The limit keeps the removal from delaying other connections.
  package var patternsMax = 16_384
  package var patternTokensMax = 65_536
  package var queriesMax = 1024
  package var participantsMax = 65_536
  package var questionsAtATime = 64
  /// The bytes of userInfo that all queries of a connection keep for questions that the bus has not sent yet.
  /// If only one query of a connection keeps userInfo, this query is allowed to exceed the limit.
  package var questionsMax = 32 << 20
  /// The bytes of reasons and values that the bus keeps for a connection's open queries and awaited posts.
  package var answersMax = 32 << 20
  /// The bytes of the delegates' identities in a verdict.
  package var outcomeIdentitiesMax = 65_536
  /// The bytes of reasons in a verdict. At least one reason always fits.
  package var outcomeReasonsMax = 32_768
  package static var ancestorsMax: Int { 32 }
  /// The number of actions under way of a user. Privileged users have no limit.
  package static var actionsMax: Int { 256 }
  package var definitionsMax = 16
  /// The bytes of notifications that the bus buffers for a suspended connection.
  package var bufferMax = 1 << 20
  package var awaitedMax = 65_536
  /// A delegate's default timeout, in milliseconds.
  package var delegateTimeout: UInt32 = 5_000
  /// The default deadline of a query or awaited post, in milliseconds. Clients can set at most `deadlineMax`.
  package var deadline: UInt32 = 30_000
  package var deadlineMax: UInt32 = 3_600_000

  /// The totals that users share. Two things can exceed a user's share of the log: the userInfo of one query,
  /// and one answer to the user's queries or awaited posts.
  package var totals = Self.defaultTotals
  package var weights: [UInt32: Int] = [:]

  private static let defaultTotals: Amounts = {
    var totals = Amounts()
    totals[.connections] = 16_384
    totals[.descriptors] = 1024
    totals[.partialFrames] = 256 << 20
    totals[.log] = 20 << 20
    totals[.retained] = 32 << 20
    totals[.registrations] = 65_536
    // A protocol with its ancestors takes up to 32 KiB of memory, so 4096 protocols take up to 128 MiB.
    totals[.protocols] = 4096
    totals[.queues] = 1 << 30
    totals[.unreadFiles] = 16_384
    return totals
  }()

  /// True for a user's own bus, which refuses questions about the host: only the system's bus accepts these.
  package var isForUser = false

  package init() {}

  /// The limits for a replay, which must accept every logged frame. Each frame was within the limits when the
  /// earlier bus received it.
  package var lifted: BusLimits {
    let quantities: [WritableKeyPath<BusLimits, Int>] = [
      \.observationsMax, \.delegatesMax, \.patternsMax, \.patternTokensMax, \.queriesMax, \.participantsMax,
      \.questionsMax, \.answersMax, \.definitionsMax, \.bufferMax, \.awaitedMax,
    ]
    var lifted = self
    for quantity in quantities { lifted[keyPath: quantity] = 1 << 40 }
    lifted.totals = Amounts(each: 1 << 44)
    lifted.deadlineMax = .max
    return lifted
  }
}

extension WireError {
  init(limit: String, setting: String? = nil) {
    let remedy = setting.map { " (\($0))" } ?? ""
    self.init(.limitExceeded, "the limit of \(limit) is reached\(remedy)")
  }
}

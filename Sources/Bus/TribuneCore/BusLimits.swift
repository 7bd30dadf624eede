// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Limits for one connection, totals for all users, and time limits.
package struct BusLimits: Equatable, Sendable {
  /// Observations, monitors and declarations.
  package var observationsMax = 4096
  /// Tokens of observations and monitors: a new name may have to be compared with each.
  package var observationTokensMax: Int { max(32_768, 8 * observationsMax) }
  /// Delegates and holds.
  package var delegatesMax = 4096
  /// A connection's patterns are removed all at once, which must not delay others.
  package var patternsMax = 16_384
  package var patternTokensMax = 65_536
  package var queriesMax = 1024
  package var participantsMax = 65_536
  package var questionsAtATime = 64
  /// Bytes of userInfo kept for delegates whose turn has not come. A lone query is exempt.
  package var questionsMax = 32 << 20
  /// Bytes of reasons and values that were received and not sent yet.
  package var answersMax = 32 << 20
  /// Bytes of identities in a verdict.
  package var outcomeIdentitiesMax = 65_536
  /// Bytes of reasons in a verdict. At least one always fits.
  package var outcomeReasonsMax = 32_768
  package static var ancestorsMax: Int { 32 }
  /// Of a user, except privileged ones.
  package static var actionsMax: Int { 256 }
  package var definitionsMax = 16
  /// Bytes.
  package var bufferMax = 1 << 20
  package var awaitedMax = 65_536
  /// Milliseconds.
  package var delegateTimeout: UInt32 = 5_000
  /// Milliseconds.
  package var deadline: UInt32 = 30_000
  package var deadlineMax: UInt32 = 3_600_000

  /// One answer a user, and the userInfo of one query, may exceed the user's share of the log. A protocol can
  /// take 32 KiB, including its ancestors.
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
    totals[.protocols] = 4096
    totals[.queues] = 1 << 30
    totals[.unreadFiles] = 16_384
    return totals
  }()

  /// True for one user's bus, which nobody asks about the host.
  package var isForUser = false

  package init() {}

  /// Limits for a replay: each frame was within the limits in force when it first arrived.
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

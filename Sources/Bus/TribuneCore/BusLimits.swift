// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Limits of one connection, what all users share, and how long things may take.
package struct BusLimits: Equatable, Sendable {
  /// Observations, monitors and declarations.
  package var observationsMax = 4096
  /// Tokens in the patterns of its observations and monitors together, each of which may have to be compared with a
  /// new name: 32,768, or eight for each observation if that is more.
  package var observationTokensMax: Int { max(32_768, 8 * observationsMax) }
  /// Delegates and holds.
  package var delegatesMax = 4096
  /// Patterns of all its delegates together. All go at once with the connection, which must not delay others.
  package var patternsMax = 16_384
  /// Tokens of all those patterns.
  package var patternTokensMax = 65_536
  package var queriesMax = 1024
  /// Delegates of all queries under way together. Bounds queries times delegates, which the bus keeps, walks and sends.
  package var participantsMax = 65_536
  /// Questions that the delegates of one connection have at a time (see `QuestionTurns`).
  package var questionsAtATime = 64
  /// Bytes of userInfo that a connection's queries keep for delegates whose turn has not come. A query that is the
  /// only one to keep any is exempt.
  package var questionsMax = 32 << 20
  /// Bytes of reasons and values that a connection's queries and awaited posts have received and not yet sent to it.
  package var answersMax = 32 << 20
  /// Bytes of the identities that a verdict lists, each charged as for a query under way: those of holds, and those of
  /// delegates without a value.
  package var outcomeIdentitiesMax = 65_536
  /// Bytes of reasons that a verdict lists: those of holds, and those of delegates. At least one always fits.
  package var outcomeReasonsMax = 32_768
  /// Ancestors that a nested query can have.
  package static var ancestorsMax: Int { 32 }
  /// Declarations of one connection that define protocols.
  package var definitionsMax = 16
  /// Bytes buffered for a connection while it is suspended.
  package var bufferMax = 1 << 20
  /// Observers that the awaited posts of one connection wait for, together.
  package var awaitedMax = 65_536
  /// Milliseconds of silence before a delegate without a time-out of its own counts as timed out.
  package var delegateTimeout: UInt32 = 5_000
  /// Milliseconds for a query whose asker gave no deadline.
  package var deadline: UInt32 = 30_000
  package var deadlineMax: UInt32 = 3_600_000

  /// What all users together may have of each shared resource. Of the log, one answer to a user, and the userInfo
  /// that one query keeps, may exceed the user's share. A protocol can take 32 KiB, with what it inherits.
  package var totals = Self.defaultTotals
  /// As how many users one counts, if it is not 1.
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

  package init() {}

  /// These limits without bounds on quantities, for a replay: each replayed frame was within the limits in force when
  /// it first came.
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
  /// A refusal because of a limit, which is given as its value and what it counts.
  ///
  /// - Parameter setting: what sets the limit, if anything does.
  init(limit: String, setting: String? = nil) {
    let remedy = setting.map { " (\($0))" } ?? ""
    self.init(.limitExceeded, "the limit of \(limit) is reached\(remedy)")
  }
}

// SPDX-License-Identifier: Apache-2.0

/// What one connection may have at a time, and how long things may take.
package struct BusLimits: Equatable, Sendable {
  /// Observations, monitors and declarations.
  package var observationsMax = 4096
  /// Tokens of the patterns of its observations and monitors together, each of which a name that is new may have
  /// to be compared with: eight for each, where so many may be had that this is more.
  package var observationTokensMax: Int { max(32_768, 8 * observationsMax) }
  /// Delegates and holds.
  package var delegatesMax = 4096
  /// Patterns of all its delegates together. Each is taken out at once with all others when the connection ends,
  /// which nobody else is to notice.
  package var patternsMax = 16_384
  /// Tokens of all those patterns.
  package var patternTokensMax = 65_536
  package var queriesMax = 1024
  /// Delegates of all queries under way together: many queries times many delegates is what the bus
  /// would have to keep, to go through and to send.
  package var participantsMax = 65_536
  /// Bytes of the userInfo that a connection's queries keep for delegates whose turn has not come, but for the
  /// only one that keeps any.
  package var questionsMax = 32 << 20
  /// Bytes of the reasons and values that a connection's queries and awaited posts have been given and that it
  /// has not been sent yet.
  package var answersMax = 32 << 20
  /// Holds that one verdict lists, the oldest; their reasons are what its length depends on.
  package var holdsListedMax = 1024
  /// Queries that one can be asked within.
  package var ancestorsMax = 32
  /// Declarations of one connection that define protocols.
  package var definitionsMax = 16
  /// Protocols in all, those of files not refused. One can take 32 KiB, with what it inherits.
  package var protocolsMax = 4096
  /// Bytes that are held for a connection while it is suspended.
  package var heldMax = 1 << 20
  /// Bytes that are held for all of them. Past it, each may hold an even share of it.
  package var heldTotalMax = 256 << 20
  /// Bytes that are retained for one user, and for all.
  package var retainedUserMax = 4 << 20
  package var retainedMax = 32 << 20
  /// Bytes that are kept for one user of what has to be remembered over a restart: what it has registered, and its queries
  /// and awaited posts under way. One answer has room all the same, and so has the userInfo that one query keeps.
  package var rememberedUserMax = 16 << 20
  /// Observers that the awaited posts of one connection wait for, together.
  package var awaitedMax = 65_536
  /// Milliseconds of silence before a delegate that named no time of its own counts as timed out.
  package var delegateTimeout: UInt32 = 5_000
  /// Milliseconds for a query whose asker named no deadline.
  package var deadline: UInt32 = 30_000
  package var deadlineMax: UInt32 = 3_600_000

  package init() {}

  /// The same without bounds on how much there may be, for what was within those that held when it came.
  package var lifted: BusLimits {
    let much = 1 << 40
    var lifted = self
    (lifted.observationsMax, lifted.delegatesMax, lifted.patternsMax, lifted.patternTokensMax) = (
      much, much, much, much
    )
    (lifted.queriesMax, lifted.participantsMax, lifted.questionsMax, lifted.answersMax) = (
      much, much, much, much
    )
    (lifted.definitionsMax, lifted.protocolsMax, lifted.heldMax, lifted.heldTotalMax) = (
      much, much, much, much
    )
    (lifted.retainedUserMax, lifted.retainedMax, lifted.awaitedMax) = (much, much, much)
    lifted.rememberedUserMax = much
    lifted.deadlineMax = .max
    return lifted
  }
}

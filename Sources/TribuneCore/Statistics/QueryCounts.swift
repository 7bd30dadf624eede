// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What was asked under a name.
struct NameCounts: Counts {
  var asked: UInt64 = 0
  var vetoed: UInt64 = 0
  var overridden: UInt64 = 0
  var cancelled: UInt64 = 0
  var outcomes = OutcomeCounts()
  var durations = Durations()

  var activity: UInt64 { asked &+ cancelled }

  mutating func add(_ other: NameCounts) {
    asked &+= other.asked
    vetoed &+= other.vetoed
    overridden &+= other.overridden
    cancelled &+= other.cancelled
    outcomes.add(other.outcomes)
    durations.add(other.durations)
  }
}

/// Whose answers are counted together.
struct ParticipantKey: Hashable {
  let role: ParticipantRole
  let label: String
  let unit: String
  let uid: UInt32

  init(_ role: ParticipantRole, _ peer: PeerIdentity, label: String = "") {
    (self.role, self.label, unit, uid) = (role, label, peer.units.primary, peer.uid)
  }

  init(_ entry: ParticipantEntry) {
    (role, label, unit, uid) = (entry.role, entry.label, entry.unit, entry.uid)
  }
}

/// How some participants answered.
struct ParticipantCounts: Counts {
  var outcomes = OutcomeCounts()
  var durations = Durations()

  var activity: UInt64 { outcomes.total }

  @inline(__always) mutating func note(_ outcome: OutcomeKind, afterNanoseconds elapsed: UInt64) {
    outcomes.note(outcome)
    durations.note(nanoseconds: elapsed)
  }

  mutating func add(_ other: ParticipantCounts) {
    outcomes.add(other.outcomes)
    durations.add(other.durations)
  }
}

extension OutcomeCounts {
  var total: UInt64 { approved &+ vetoed &+ abstained &+ timedOut &+ gone &+ failed &+ held &+ answered }

  @inline(__always) mutating func note(_ outcome: OutcomeKind) {
    switch outcome {
    case .approved: approved &+= 1
    case .vetoed: vetoed &+= 1
    case .abstained: abstained &+= 1
    case .timedOut: timedOut &+= 1
    case .gone: gone &+= 1
    case .failed: failed &+= 1
    case .held: held &+= 1
    case .answered: answered &+= 1
    }
  }

  mutating func add(_ other: OutcomeCounts) {
    approved &+= other.approved
    vetoed &+= other.vetoed
    abstained &+= other.abstained
    timedOut &+= other.timedOut
    gone &+= other.gone
    failed &+= other.failed
    held &+= other.held
    answered &+= other.answered
  }
}

extension OutcomeKind {
  init(_ failure: ObserverFailure?) {
    self =
      switch failure {
      case nil: .answered
      case .failed: .failed
      case .gone: .gone
      case .timedOut: .timedOut
      }
  }
}

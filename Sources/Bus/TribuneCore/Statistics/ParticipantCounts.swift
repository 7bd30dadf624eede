// SPDX-License-Identifier: Apache-2.0

import TribuneWire

struct ParticipantKey: Hashable {
  let role: ParticipantRole
  let label: String
  let unit: String
  let uid: UInt32

  init(_ role: ParticipantRole, _ peer: PeerIdentity, label: String = "") {
    (self.role, self.label, unit, uid) = (role, label, peer.units.primary, peer.uid)
  }
}

struct ParticipantCounts: Counts {
  var outcomes = OutcomeCounts()
  var durations = Durations()

  var activity: UInt64 { outcomes.total }

  @inline(__always) mutating func count(_ outcome: OutcomeKind, afterNanoseconds elapsed: UInt64) {
    outcomes.count(outcome)
    durations.record(nanoseconds: elapsed)
  }

  mutating func add(_ other: ParticipantCounts) {
    outcomes.add(other.outcomes)
    durations.add(other.durations)
  }
}

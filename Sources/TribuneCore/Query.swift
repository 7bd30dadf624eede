// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// One query, from the question to the verdict.
///
/// A participant is first `unasked` (only *in order* leaves it there), then `waiting` until it answers or
/// its time is over, then `settled`, which it stays: a veto is sticky because nothing leaves that state.
/// The query is over as soon as `isDecided`; its owner then takes `verdict(fallback:)` from it.
struct Query {
  struct Participant {
    enum State {
      case unasked
      case waiting(until: Instant)
      case settled(OutcomeKind, reason: String)
    }

    let delegate: DelegateRegistration
    var state = State.unasked
    /// Whether it was put the question. One that has gone, or for which there was no time left when its turn
    /// came, is settled without.
    var wasAsked = false
    var asked = Instant(nanoseconds: 0)
    /// From the question to what came of it.
    var elapsedNanoseconds: UInt64 = 0

    /// Whether what came of it counts as a veto.
    var isVeto: Bool {
      guard case .settled(let outcome, _) = state else { return false }
      return switch outcome {
      case .vetoed, .held: true
      case .timedOut, .gone, .failed: delegate.failurePolicy == .veto
      case .approved, .abstained: false
      }
    }
  }

  let id: QueryID
  let asker: ConnectionSlot
  let askerID: ConnectionID
  let askerPeer: PeerIdentity
  let serial: Serial
  let mode: QueryMode
  let fallback: VerdictKind
  /// The asker's own; bounds everything.
  let deadline: Instant
  var participants: [Participant] = []
  private(set) var waitingCount = 0
  private(set) var hasVeto = false
  private var hasApproval = false
  /// The first participant that has not been asked.
  private(set) var next = 0

  init(
    id: QueryID, asker: ConnectionSlot, askerID: ConnectionID, askerPeer: PeerIdentity, serial: Serial,
    mode: QueryMode, fallback: VerdictKind, deadline: Instant
  ) {
    self.id = id
    self.asker = asker
    self.askerID = askerID
    self.askerPeer = askerPeer
    self.serial = serial
    self.mode = mode
    self.fallback = fallback
    self.deadline = deadline
  }

  /// Whether nothing that can still come would change the verdict, or be waited for.
  var isDecided: Bool {
    if hasVeto, mode != .all { return true }
    return waitingCount == 0 && next == participants.count
  }

  /// The next participant to be asked now, if the mode lets one be asked. Those that have gone since the
  /// query began are settled on the way.
  mutating func takeNext(at now: Instant) -> Int? {
    while next < participants.count, !isDecided, mode != .order || waitingCount == 0 {
      let index = next
      next += 1
      participants[index].asked = now
      guard participants[index].delegate.isAttached else {
        settle(index, .gone, reason: "", at: now, wasWaiting: false)
        continue
      }
      let until = min(deadline, now.advanced(byMilliseconds: participants[index].delegate.timeout))
      participants[index].state = .waiting(until: until)
      participants[index].wasAsked = true
      waitingCount += 1
      return index
    }
    return nil
  }

  /// The place of a participant that is being waited for.
  func waitingIndex(of delegate: DelegateID) -> Int? {
    participants.firstIndex { participant in
      guard participant.delegate.identity.id == delegate, case .waiting = participant.state else {
        return false
      }
      return true
    }
  }

  /// Notes what came of a participant that was being waited for.
  mutating func settle(_ index: Int, _ outcome: OutcomeKind, reason: String, at now: Instant) {
    settle(index, outcome, reason: reason, at: now, wasWaiting: true)
  }

  private mutating func settle(
    _ index: Int, _ outcome: OutcomeKind, reason: String, at now: Instant, wasWaiting: Bool
  ) {
    if wasWaiting { waitingCount -= 1 }
    participants[index].state = .settled(outcome, reason: reason)
    participants[index].elapsedNanoseconds = now.nanoseconds(since: participants[index].asked)
    if participants[index].isVeto { hasVeto = true }
    if outcome == .approved { hasApproval = true }
  }

  /// Gives a participant that is being waited for more time: never less than it has, and never past the
  /// asker's deadline.
  mutating func extend(_ index: Int, to wanted: Instant) -> Instant {
    guard case .waiting(let granted) = participants[index].state else {
      preconditionFailure("nobody waits for participant \(index)")
    }
    let until = max(granted, min(wanted, deadline))
    participants[index].state = .waiting(until: until)
    return until
  }

  /// Notes everyone whose time is over at `now`. Past the asker's deadline that is everyone of whom
  /// nothing has come, asked or not: who could not be asked in time did not approve.
  mutating func expire(at now: Instant) {
    for index in participants.indices {
      if case .waiting(let until) = participants[index].state, until <= now {
        settle(index, .timedOut, reason: "", at: now)
      }
    }
    guard deadline <= now else { return }
    while next < participants.count, !isDecided {
      participants[next].asked = now
      settle(next, .timedOut, reason: "", at: now, wasWaiting: false)
      next += 1
    }
  }

  /// Notes that those delegates are gone which are not attached any more.
  mutating func settleGone(at now: Instant) {
    for index in participants.indices where !participants[index].delegate.isAttached {
      if case .waiting = participants[index].state { settle(index, .gone, reason: "", at: now) }
    }
  }

  /// The earliest moment at which somebody's time is over.
  var nextExpiry: Instant {
    var earliest = deadline
    for participant in participants {
      if case .waiting(let until) = participant.state, until < earliest { earliest = until }
    }
    return earliest
  }

  var verdict: Verdict {
    var outcomes: [Outcome] = []
    for participant in participants {
      guard case .settled(let outcome, let reason) = participant.state else { continue }
      outcomes.append(
        Outcome(
          delegate: participant.delegate.identity, outcome: outcome, reason: reason,
          elapsed: participant.elapsedNanoseconds / 1000))
    }
    let isAnswered = hasVeto || hasApproval
    return Verdict(
      query: id, verdict: hasVeto ? .vetoed : hasApproval ? .allowed : fallback,
      isUnanswered: !isAnswered, outcomes: outcomes)
  }
}

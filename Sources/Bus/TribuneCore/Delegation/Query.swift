// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
import TribuneWire

/// The vetoes that a query has without asking any delegate: holds, missing required delegates, and actions
/// that fill the query's slots.
struct Standing {
  var outcomes: [Outcome] = []
  /// The number of holds and actions that `outcomes` omits.
  var omittedHolds = 0
  /// True if a hold has the query's name itself as its pattern, and not only a pattern with a star.
  var hasName = false

  mutating func add(_ other: Standing) {
    outcomes += other.outcomes
    omittedHolds += other.omittedHolds
  }
}

/// One query, from the question to the verdict. A veto cannot be lifted, because `settled` is a final state.
struct Query {
  struct Asker {
    let slot: ConnectionSlot
    let id: ConnectionID
    let peer: PeerIdentity
    let serial: Serial
  }

  struct Participant {
    enum State {
      /// Next states: waiting, settled.
      case unasked
      /// Next state: settled.
      case waiting(until: Instant)
      /// Final state.
      case settled(OutcomeKind, reason: String)
    }

    let delegate: DelegateRegistration
    /// The delegate's failure policy, or *veto* if the operator requires the delegate for this name.
    let failurePolicy: FailurePolicy
    var state = State.unasked
    var wasAsked = false
    /// True from the sending of the question until the delegate answers, defers or asks a nested query, or
    /// the query stops waiting for the delegate.
    var hasTurn = false
    /// The question's number in `QuestionTurns` if the question waits or has waited for its turn, else 0.
    var number: UInt64 = 0
    /// The time when the query began to wait for this participant, perhaps before the bus sent the question.
    var asked = Instant(nanoseconds: 0)
    var elapsedNanoseconds: UInt64 = 0
    var value: [UInt8] = []

    var isUnplaced: Bool {
      guard case .waiting = state else { return false }
      return !wasAsked && number == 0
    }

    /// True if the timeout has expired, but the answer can still be on the way. This requires that the bus
    /// has sent the question, and that the delegate is attached.
    fileprivate func isOverdue(at now: Instant) -> Bool {
      guard case .waiting(let until) = state else { return false }
      return until <= now && wasAsked && delegate.isAttached
    }

    fileprivate var isVeto: Bool {
      guard case .settled(let outcome, _) = state else { return false }
      return isVeto(outcome)
    }

    fileprivate func isVeto(_ outcome: OutcomeKind) -> Bool {
      switch outcome {
      case .vetoed, .held: true
      case .timedOut, .gone, .failed: failurePolicy == .veto
      case .approved, .abstained, .answered: false
      }
    }
  }

  private static let searchedMax = 32

  let id: QueryID
  let asker: Asker
  let ask: Ask
  /// This property and the next one are computed once, because the bus reads them often.
  let isForValues: Bool
  private let waitsForAll: Bool
  var method: ProtocolMethod?
  /// nil for a dry run.
  var tally: Tally<NameCounts>?
  let started: Instant
  private(set) var deadline: Instant
  /// The outcomes in `Standing`.
  private(set) var standing: [Outcome] = []
  private(set) var omittedHolds = 0
  /// True if a delegate or a hold has the query's name itself as its pattern, and not only a pattern with a
  /// star. Also true for a query that was restored after a restart, because the log lacks this fact.
  var isMetByName = true
  private(set) var participants: [Participant] = []
  private(set) var waitingCount = 0
  private(set) var hasVeto = false
  private var hasConsent = false
  /// The bytes charged for the query, without its userInfo and answers.
  var rememberedByteCount = 0
  var exemptByteCount = 0
  private(set) var answerByteCount = 0
  private(set) var next = 0
  /// The next timeout of a participant, or the deadline. This time can be too early, because an answer or
  /// `defer` does not change it. `expire` makes it exact.
  private(set) var nextExpiry: Instant
  private var newlySettled: [Int] = []
  /// Indices of participants, by the delegate's id (an integer, see `PlacesByID.others`). Empty up to
  /// `searchedMax` participants.
  private var places: [UInt64: Int] = [:]

  init(id: QueryID, asker: Asker, _ ask: Ask, started: Instant, deadline: Instant) {
    self.id = id
    self.asker = asker
    self.ask = ask
    waitsForAll = ask.waitsForAll
    isForValues = ask.mode.isForValues
    self.started = started
    self.deadline = deadline
    nextExpiry = deadline
  }

  // MARK: Participants

  mutating func setParticipants(
    _ delegates: [DelegateRegistration], requiring required: [RequiredDelegate] = []
  ) {
    participants.reserveCapacity(delegates.count)
    for delegate in delegates {
      let isRequired = !required.isEmpty && required.contains { $0.isMet(by: delegate.identity) }
      participants.append(
        Participant(delegate: delegate, failurePolicy: isRequired ? .veto : delegate.failurePolicy))
    }
    indexParticipants()
  }

  private mutating func indexParticipants() {
    guard participants.count > Self.searchedMax else { return }
    for (place, participant) in participants.enumerated() {
      places[participant.delegate.identity.id.rawValue] = place
    }
  }

  /// Restores participants. Unasked participants must come last. For each participant for which the query
  /// waits, the caller must then call `beginWaiting` on the participant's delegate.
  mutating func restore(_ participants: [Participant], answerByteCount: Int, nextExpiry: Instant) {
    self.participants += participants
    self.answerByteCount = answerByteCount
    self.nextExpiry = min(self.nextExpiry, nextExpiry)
    indexParticipants()
    for participant in participants {
      switch participant.state {
      case .unasked: return
      case .waiting(let until):
        waitingCount += 1
        self.nextExpiry = min(self.nextExpiry, until)
      case .settled(let outcome, _): weigh(outcome, of: participant)
      }
      next += 1
    }
  }

  mutating func add(_ standing: Standing) {
    guard !standing.outcomes.isEmpty || standing.omittedHolds > 0 else { return }
    self.standing += standing.outcomes
    omittedHolds += standing.omittedHolds
    hasVeto = true
  }

  mutating func takeCapacity(from other: inout Query) { swap(&participants, &other.participants) }

  mutating func clear(keepingCapacityFor count: Int) {
    if participants.count <= count {
      participants.removeOneByOne()
    } else {
      participants = []
    }
    standing = []
    omittedHolds = 0
    method = nil
    tally = nil
    newlySettled = []
    places = [:]
  }

  mutating func waitingIndex(of delegate: DelegateID) -> Int? {
    let found =
      places.isEmpty
      ? participants.firstIndex { $0.delegate.identity.id == delegate } : places[delegate.rawValue]
    guard let found, case .waiting = participants[found].state else { return nil }
    return found
  }

  var mayBeMisspelt: Bool { !isMetByName && !(isForValues && hasConsent) }

  var hasAskedAnybody: Bool { participants.contains(where: \.wasAsked) }

  /// Includes delegates that have left after the bus asked them.
  mutating func hasAsked(user: UInt32) -> Bool {
    participants.contains { $0.wasAsked && $0.delegate.identity.peer.uid == user }
  }

  mutating func hasAsked(delegateAt slot: ConnectionSlot) -> Bool {
    participants.contains { $0.wasAsked && $0.delegate.isAttached && $0.delegate.slot == slot }
  }

  // MARK: Progress

  mutating func isDecided() -> Bool {
    if !waitsForAll, isForValues ? hasConsent : hasVeto { return true }
    return waitingCount == 0 && next == participants.count
  }

  /// Finds the next participant whose delegate is attached, and begins to wait for it. Skips participants
  /// whose delegates have left, and settles these as `gone`. The caller must then call `takeTurn` with the
  /// returned index. Returns nil if the bus must not ask another participant now.
  mutating func takeNext(at now: Instant) -> Int? {
    while next < participants.count, now < deadline, !isDecided(), !ask.mode.isSequential || waitingCount == 0
    {
      let index = next
      next += 1
      participants[index].asked = now
      let delegate = participants[index].delegate
      guard delegate.isAttached else {
        settle(index, .gone, reason: "", at: now)
        continue
      }
      let until = min(deadline, now.advanced(byMilliseconds: delegate.timeout))
      participants[index].state = .waiting(until: until)
      delegate.beginWaiting(id)
      waitingCount += 1
      nextExpiry = min(nextExpiry, until)
      return index
    }
    return nil
  }

  // MARK: Turns

  mutating func takeTurn(_ index: Int, isPrivileged: Bool, of max: Int) -> Bool {
    let inbox = participants[index].delegate.inbox
    if inbox.turns.value.start(for: asker.peer.uid, isPrivileged: isPrivileged, of: max) { return true }
    waitForTurn(index, isPrivileged: isPrivileged)
    return false
  }

  mutating func waitForTurn(_ index: Int, isPrivileged: Bool) {
    let delegate = participants[index].delegate
    participants[index].number = delegate.inbox.turns.value
      .wait(id, delegate.identity.id, for: asker.peer.uid, isPrivileged: isPrivileged)
  }

  mutating func markAsked(_ index: Int) {
    participants[index].wasAsked = true
    participants[index].hasTurn = true
  }

  /// Call this when the delegate has answered, deferred or asked a nested query, or did not get the question.
  mutating func endTurn(_ index: Int) {
    guard participants[index].hasTurn else { return leaveTurns(index) }
    participants[index].hasTurn = false
    participants[index].delegate.inbox.turns.value.end(of: asker.peer.uid)
  }

  private mutating func abandonTurn(_ index: Int) {
    guard participants[index].hasTurn else { return leaveTurns(index) }
    participants[index].hasTurn = false
    participants[index].delegate.inbox.turns.value.abandon(of: asker.peer.uid)
  }

  private mutating func leaveTurns(_ index: Int) {
    guard participants[index].number > 0, !participants[index].wasAsked else { return }
    participants[index].delegate.inbox.turns.value.leave(participants[index].number, of: asker.peer.uid)
  }

  /// Call this in a replay of the log if the earlier bus has already sent the question, but the question
  /// still waits for its turn on this bus.
  mutating func markAskedBefore(_ index: Int) {
    leaveTurns(index)
    participants[index].wasAsked = true
  }

  @inline(__always) mutating func settle(
    _ index: Int, _ outcome: OutcomeKind, reason: String, value: [UInt8] = [], byteCount: Int = 0,
    at now: Instant
  ) {
    let delegate = participants[index].delegate
    let elapsed = now.nanoseconds(since: participants[index].asked)
    switch participants[index].state {
    case .unasked: break
    case .waiting:
      waitingCount -= 1
      delegate.endWaiting(id)
      if outcome.isAnswer { endTurn(index) } else { abandonTurn(index) }
      if !ask.flags.contains(.isDryRun) {
        delegate.tally.update { $0.count(outcome, afterNanoseconds: elapsed) }
      }
    case .settled: preconditionFailure("the outcome of a participant is final")
    }
    participants[index].state = .settled(outcome, reason: reason)
    participants[index].elapsedNanoseconds = elapsed
    weigh(outcome, of: participants[index])
    if !value.isEmpty { participants[index].value = value }
    answerByteCount += byteCount
    if ask.flags.contains(.wantsProgress) { newlySettled.append(index) }
  }

  private mutating func weigh(_ outcome: OutcomeKind, of participant: Participant) {
    if participant.isVeto(outcome) { hasVeto = true }
    if outcome == (isForValues ? .answered : .approved) { hasConsent = true }
  }

  mutating func settleUnreached(_ index: Int, reason: String, at now: Instant) {
    settle(index, .failed, reason: reason, at: now)
    participants[index].wasAsked = false
  }

  mutating func stopWaiting() {
    for index in participants.indices {
      guard case .waiting = participants[index].state else { continue }
      participants[index].delegate.endWaiting(id)
      abandonTurn(index)
    }
    waitingCount = 0
  }

  mutating func takeSettled() -> [Int] {
    if newlySettled.isEmpty { return [] }
    defer { newlySettled = [] }
    return newlySettled
  }

  /// Extends the participant's timeout, up to the deadline of the query. Never shortens the timeout. Returns
  /// the timeout's new end.
  mutating func extend(_ index: Int, to wanted: Instant) -> Instant {
    guard case .waiting(let granted) = participants[index].state else {
      preconditionFailure("the query does not wait for participant \(index)")
    }
    let until = max(granted, min(wanted, deadline))
    participants[index].state = .waiting(until: until)
    return until
  }

  func overdueSlots(at now: Instant) -> [ConnectionSlot] {
    participants.lazy.filter { $0.isOverdue(at: now) }.map(\.delegate.slot)
  }

  mutating func prolong(_ slots: Set<ConnectionSlot>, at now: Instant, until end: Instant) {
    for index in participants.indices
    where participants[index].isOverdue(at: now) && slots.contains(participants[index].delegate.slot) {
      if deadline <= now { deadline = end }
      participants[index].state = .waiting(until: min(end, deadline))
    }
  }

  private static let unasked = "it was not asked in time"

  /// Settles the participants whose timeout has expired. After the deadline of the query, also settles
  /// unasked participants as `timedOut`: their failure policies apply, as if these delegates had been silent.
  ///
  /// - Returns: the inboxes of participants that had a turn and have timed out. Their questions are now
  ///   unread (`QuestionTurns`).
  mutating func expire(at now: Instant) -> [QuestionInbox] {
    var earliest = deadline
    var unread: [QuestionInbox] = []
    for index in participants.indices {
      guard case .waiting(let until) = participants[index].state else { continue }
      if until <= now {
        if participants[index].hasTurn { unread.append(participants[index].delegate.inbox) }
        settle(index, .timedOut, reason: participants[index].wasAsked ? "" : Self.unasked, at: now)
      } else {
        earliest = min(earliest, until)
      }
    }
    nextExpiry = earliest
    guard deadline <= now else { return unread }
    while next < participants.count, !isDecided() {
      participants[next].asked = now
      settle(next, .timedOut, reason: Self.unasked, at: now)
      next += 1
    }
    return unread
  }

  struct Result {
    let verdict: Verdict
    let vetoes: OutcomePlaces
    let omittedVetoCount: Int
  }

  mutating func conclude(within budget: OutcomeBudget) -> Result {
    let list = boundedList(within: budget)
    var outcomes = standing
    var omittedCount = omittedHolds
    var vetoes = hasVeto ? OutcomePlaces(standing.indices) : OutcomePlaces()
    var omittedVetoCount = omittedHolds
    outcomes.reserveCapacity(standing.count + participants.count)
    for index in participants.indices {
      guard case .settled(let outcome, let whole) = participants[index].state else { continue }
      let isVeto = hasVeto && participants[index].isVeto(outcome)
      guard let reason = list == nil ? whole : list?[index] else {
        omittedCount += 1
        if isVeto { omittedVetoCount += 1 }
        continue
      }
      if isVeto { vetoes.insert(outcomes.count) }
      outcomes.append(
        Outcome(
          delegate: participants[index].delegate.identity, outcome: outcome, reason: reason,
          elapsed: participants[index].elapsedNanoseconds / 1000, value: participants[index].value))
    }
    let overrides = !isForValues && ask.flags.contains(.overrides)
    // Under an override, holds and missing required delegates do not count as answers. If there are no other
    // vetoes and no approvals, the fallback decides.
    let isAnswered =
      hasConsent || !isForValues && (overrides ? participants.contains(where: \.isVeto) : hasVeto)
    let kind: VerdictKind =
      if isForValues {
        hasConsent ? .allowed : .vetoed
      } else if isAnswered {
        hasVeto && !overrides ? .vetoed : .allowed
      } else {
        ask.fallback
      }
    let isOverridden = overrides && hasVeto && kind == .allowed
    let verdict = Verdict(
      query: id, verdict: kind, isUnanswered: !isAnswered && !isOverridden, outcomes: outcomes,
      isOverridden: isOverridden,
      isDryRun: ask.flags.contains(.isDryRun), omittedCount: UInt32(omittedCount))
    return Result(verdict: verdict, vetoes: vetoes, omittedVetoCount: omittedVetoCount)
  }

  /// The participants' reasons in a verdict, cut to the budget. An element is nil if the verdict omits the
  /// participant. The list is nil if everything fits. Vetoes use the budget first. Values are never omitted.
  private func boundedList(within budget: OutcomeBudget) -> [String?]? {
    if budget.fits(participants.count, answers: answerByteCount) { return nil }
    var budget = budget
    var list = [String?](repeating: nil, count: participants.count)
    for isForVetoes in [true, false] {
      for index in participants.indices {
        let delegate = participants[index].delegate
        guard case .settled(let outcome, let reason) = participants[index].state,
          participants[index].isVeto(outcome) == isForVetoes
        else { continue }
        if outcome == .answered {
          list[index] = reason
        } else if budget.admit(delegate.rememberedLength) {
          list[index] = budget.cut(reason)
        }
      }
    }
    return list
  }

  /// Includes outcomes that the verdict omits.
  mutating func count(in counts: inout OutcomeCounts) {
    for outcome in standing { counts.count(outcome.outcome) }
    counts.held &+= UInt64(omittedHolds)
    for index in participants.indices {
      if case .settled(let outcome, _) = participants[index].state { counts.count(outcome) }
    }
  }

  /// Includes vetoes that the verdict omits.
  var vetoCount: Int {
    guard hasVeto else { return 0 }
    return participants.reduce(standing.count + omittedHolds) { $0 + ($1.isVeto ? 1 : 0) }
  }
}

extension OutcomeKind {
  fileprivate var isAnswer: Bool {
    switch self {
    case .approved, .vetoed, .abstained, .answered, .failed: true
    case .timedOut, .gone, .held: false
    }
  }
}

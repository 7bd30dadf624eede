// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
package import TribuneWire

extension Bus {
  // MARK: Queries

  mutating func ask(
    _ frame: FrameView, in slice: ByteSlice, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) -> QueryID {
    var fields = try frame.decode(Ask.self)
    let header = frame.header
    let key = frame.bytes.extracting(header.nameStart..<header.payloadStart)
    let (chain, delegates) = try chains.responding(to: key, nameLength: header.nameLength)
    try frame.name.requireUnreservedName()
    if frame.object.byteCount > 0, WellKnownQuestions.isAboutUnit(frame.name) {
      try requireForm(of: String(repairing: frame.object), for: String(repairing: frame.name))
    }
    try requirePermission(.ask, on: key, nameLength: header.nameLength, chain: chain, from: slot)
    guard restoring.isReplaying || chains.isAskable(at: chain) != fields.mode.isForValues else {
      let name = String(repairing: frame.name)
      guard fields.mode.isForValues else { throw neverAsked(name, .invalidName) }
      throw WireError(.invalidName, "\(name) is a question for permission, not for a value")
    }
    if limits.isForUser, !fields.mode.isForValues {
      try requireAskers(of: String(repairing: frame.name), .invalidName)
    }
    try requirePermittedOverride(fields, from: slot)
    if fields.flags.contains(.overrides) {
      try requirePermission(.override, on: key, nameLength: header.nameLength, chain: chain, from: slot)
    }
    let begins = fields.flags.contains(.begins)
    if begins, fields.mode.isForValues || fields.flags.contains(.isDryRun) {
      throw WireError(.invalidValue, "a dry run or a query for values begins no action")
    }
    if begins {
      try requirePermissionToAct(
        String(repairing: frame.name), object: String(repairing: frame.object), from: slot)
    }
    try requireDeadline(fields.deadline)
    try requireFresh(header.serial, from: slot)
    try requireRequestCapacity(from: slot)

    let method =
      declarations.isEmpty ? nil : try method(of: frame, for: fields.mode.isForValues ? .query : .ask)

    if fields.parent != 0 {
      let parent = QueryID(rawValue: fields.parent)
      if hasAsked(parent, userOf: slot) {
        try requireNoRecursion(key, header, within: parent)
      } else {
        fields.parent = 0
      }
    }

    guard connections[slot].participantCount + delegates.count <= limits.participantsMax else {
      throw WireError(limit: "\(limits.participantsMax) delegates for all queries of a connection")
    }
    // If this method does not emit all questions itself, the query must keep the userInfo for the later ones.
    let isKept =
      frame.payload.byteCount > 0
      && (fields.mode.isSequential && delegates.count > 1 || mustWait(for: delegates, asking: slot))
    let keptBytes = isKept ? frame.payload.byteCount : 0
    let before = connections[slot].questionByteCount
    guard keptBytes == 0 || before == 0 || before + keptBytes <= limits.questionsMax else {
      throw WireError(limit: "\(limits.questionsMax) bytes of userInfo that queries keep")
    }
    if !policy.queryRules.isEmpty, policy.vetoesByDefault(frame.name) { fields.fallback = .vetoed }
    let standing =
      fields.mode.isForValues
      ? Standing()
      : standing(
        against: key, nameLength: header.nameLength, delegates, fields.slots, from: connections[slot].id,
        at: now)
    let rememberedBytes =
      rememberedLength(fields, keyLength: key.byteCount, delegates, standing.outcomes)
    let exemptBytes = exemptLength(ofKept: keptBytes, beside: rememberedBytes, from: slot)
    let actionBytes = begins ? ActionRegistration.rememberedLength(keyLength: key.byteCount) : 0
    try requireCapacity(toRemember: rememberedBytes + keptBytes - exemptBytes + actionBytes, from: slot)
    if begins { try requireActionCapacity(from: slot) }
    let deadline = fields.deadline == 0 ? limits.deadline : fields.deadline
    let id = QueryID(rawValue: ids.queries.next())
    let asker = Query.Asker(
      slot: slot, id: connections[slot].id, peer: connections[slot].peer, serial: header.serial)
    let query = Query(
      id: id, asker: asker, fields, started: now, deadline: now.advanced(byMilliseconds: deadline))
    let kept = frame.bytes.extracting(header.nameStart..<header.payloadStart + keptBytes)
    let place = queries.insert(
      consume query, tail: kept, nameLength: header.nameLength, objectLength: header.objectLength)
    // If a required delegate fails, this counts as a veto, whatever its failure policy is.
    queries[place].setParticipants(
      delegates,
      requiring: policy.queryRules.isEmpty || fields.mode.isForValues ? [] : policy.required(for: frame.name))
    if !fields.flags.contains(.isDryRun) {
      queries[place].tally = tally(ofChain: chain, frame.name, for: asker.peer.uid)
    }
    if let method { queries[place].method = method }
    queries[place].add(standing)
    queries[place].isMetByName = standing.hasName || chains.isNamed(at: chain)
    queries[place].rememberedByteCount = rememberedBytes
    queries[place].exemptByteCount = exemptBytes
    connections[slot].participantCount += delegates.count
    beginRemembering(rememberedBytes, kept: keptBytes, exempt: exemptBytes, of: slot)
    connections[slot].queries[header.serial] = id
    let freed = fields.parent == 0 ? [] : endTurns(in: QueryID(rawValue: fields.parent), at: slot)

    let start = slice.range.lowerBound
    let tail = QueryTail(
      slice: ByteSlice(slice.buffer, start + header.nameStart..<start + header.frameLength),
      nameLength: header.nameLength, objectLength: header.objectLength)
    proceed(place, tail: tail, at: now)
    for inbox in freed { emitWaitingQuestions(of: inbox, at: now) }
    return id
  }

  /// The bus does not accept these texts as the reason of an override. They probably come from a setting or
  /// variable that means *no override*.
  private static var denials: Set<String> { ["no", "false", "off", "0", "none", "never", "-", "\"\"", "''"] }

  @inline(__always) func requireDeadline(_ milliseconds: UInt32) throws(WireError) {
    guard milliseconds <= limits.deadlineMax else {
      throw WireError(
        .invalidValue,
        "a deadline of \(TimeSpan(microseconds: Int64(milliseconds) * 1000)) is over the limit of "
          + "\(TimeSpan(microseconds: Int64(limits.deadlineMax) * 1000)) (DeadlineMaxSec=)")
    }
  }

  @inline(__always) func requireRequestCapacity(from slot: ConnectionSlot) throws(WireError) {
    guard connections[slot].waitCount < limits.queriesMax else {
      throw WireError(
        limit: "\(limits.queriesMax) queries and awaited posts per connection", setting: "QueriesMax=")
    }
  }

  private mutating func requirePermittedOverride(_ ask: Ask, from slot: ConnectionSlot) throws(WireError) {
    guard ask.flags.contains(.overrides) else { return }
    guard !ask.mode.isForValues else {
      throw WireError(.invalidValue, "a query for values has no vetoes to override")
    }
    guard !ask.overrideReason.isBlank, ask.overrideReason.utf8.count <= WireLimits.reasonLength else {
      throw WireError(.invalidValue, "an override needs a reason of at most \(WireLimits.reasonLength) bytes")
    }
    guard restoring.isReplaying || !Self.denials.contains(ask.overrideReason.lowercased()) else {
      throw WireError(.invalidValue, "an override needs a reason, not \"\(ask.overrideReason)\"")
    }
  }

  /// True if the parent query has asked a delegate of this user. If it has not, the user must not learn
  /// whether the parent query exists.
  private mutating func hasAsked(_ parent: QueryID, userOf slot: ConnectionSlot) -> Bool {
    guard let place = queries.place(of: parent) else { return false }
    return queries[place].hasAsked(user: connections[slot].peer.uid)
  }

  private mutating func requireNoRecursion(
    _ key: RawSpan, _ header: FrameHeader, within parent: QueryID
  ) throws(WireError) {
    var ancestor = parent
    var depth = 0
    while let place = queries.place(of: ancestor) {
      depth += 1
      guard depth <= BusLimits.ancestorsMax else {
        throw WireError(.recursion, "queries are nested more than \(BusLimits.ancestorsMax) deep")
      }
      let tail = queries.tail(at: place)
      if tail.nameLength == header.nameLength, tail.objectLength == header.objectLength,
        tail.slice.bytes.extracting(first: key.byteCount).isEqual(to: key)
      {
        let name = String(repairing: key.extracting(first: header.nameLength))
        throw WireError(
          .recursion, "\(name) is nested in query \(ancestor.rawValue) of the same name and object")
      }
      ancestor = QueryID(rawValue: queries[place].ask.parent)
    }
  }

  private mutating func standing(
    against key: RawSpan, nameLength: Int, _ delegates: [DelegateRegistration], _ slots: UInt32,
    from asker: ConnectionID, at now: Instant
  ) -> Standing {
    var standing = standingHolds(against: key, nameLength: nameLength, from: asker)
    if !policy.queryRules.isEmpty {
      for required in policy.missing(for: key.extracting(first: nameLength), among: delegates) {
        standing.outcomes.append(
          Outcome(
            delegate: DelegateIdentity(id: DelegateID(rawValue: 0), label: required.text, peer: .unknown),
            outcome: .gone, reason: "required, and not attached", elapsed: 0))
      }
    }
    standing.add(standingActions(in: slots, against: key, nameLength: nameLength, from: asker, at: now))
    return standing
  }

  private mutating func standingHolds(
    against key: RawSpan, nameLength: Int, from asker: ConnectionID
  ) -> Standing {
    if holds.count == 0 { return Standing() }
    var standing = Standing()
    var holds = holds.against(key, nameLength: nameLength)
    if let claim = claim(of: asker, on: key, nameLength: nameLength) {
      holds.removeAll(where: claim.isTooLate)
    }
    var budget = OutcomeBudget(limits)
    for hold in holds {
      guard let outcome = hold.outcome(within: &budget) else { break }
      standing.outcomes.append(outcome)
    }
    standing.omittedHolds = holds.count - standing.outcomes.count
    standing.hasName = holds.contains(where: \.pattern.isLiteral)
    return standing
  }

  /// - Returns: for the log, the reason why the bus dropped the answer's text or value. nil if the bus kept
  ///   it.
  mutating func answer(
    _ frame: FrameView, from slot: ConnectionSlot, _ context: LoggedContext?, at now: Instant
  ) throws(WireError) -> ByteBuffer? {
    var truncation: String? = if case .answer(let truncation) = context { truncation } else { nil }
    let fields = try frame.decode(Answer.self)
    let (place, index) = try waitingParticipant(fields.query, fields.delegate, at: slot)
    let inbox = queries[place].participants[index].delegate.inbox
    if fields.answer == .value, !restoring.isReplaying, queries[place].isForValues,
      let method = queries[place].method
    {
      do throws(WireError) {
        try declarations.payloadCheck.value(frame.payload, method)
      } catch {
        let reason = "the value does not fit: \(error.message)".prefix(utf8Length: WireLimits.reasonLength)
        settleTruncated(place, index, .failed, because: reason, at: now)
        proceed(place, tail: nil, at: now)
        emit(.refusal(slot, frame.header.serial, error))
        emitWaitingQuestions(of: inbox, at: now)
        return LoggedContext.ofAnswer(truncatedBecause: reason)
      }
    }
    applyAnswer(place, index, fields.answer, frame.payload, truncatedBecause: &truncation, at: now)
    proceed(place, tail: nil, at: now)
    emitWaitingQuestions(of: inbox, at: now)
    return truncation.map(LoggedContext.ofAnswer)
  }

  private mutating func applyAnswer(
    _ place: Int, _ index: Int, _ answer: AnswerKind, _ payload: RawSpan,
    truncatedBecause reason: inout String?, at now: Instant
  ) {
    let outcome: OutcomeKind =
      switch answer {
      case .approve: .approved
      case .veto: .vetoed
      case .abstain: .abstained
      case .failed: .failed
      case .value: queries[place].isForValues ? .answered : .failed
      }
    let isValue = if case .answered = outcome { true } else { false }
    if case .value = answer, !isValue {
      let flaw = "the answer is a value, but the query is not for values"
      queries[place].settle(index, outcome, reason: flaw, at: now)
      return
    }
    let length = isValue ? payload.byteCount : min(payload.byteCount, WireLimits.reasonLength)
    // If the reason is dropped, the outcome stands. If the value is dropped, the delegate has failed.
    let truncated = isValue ? .failed : outcome
    if reason == nil, length > 0, !chargeAnswer(length, to: queries[place].asker.slot) {
      reason = "the limit on the answers to one asker is reached"
    }
    if let reason { return settleTruncated(place, index, truncated, because: reason, at: now) }
    queries[place].settle(
      index, outcome, reason: isValue || length == 0 ? "" : payload.reason,
      value: isValue ? [UInt8](payload) : [], byteCount: length, at: now)
  }

  /// Settles a participant with a reason from the bus. Half of the participant's `participantOverhead` covers
  /// a short reason, so this method charges only the bytes beyond this half.
  private mutating func settleTruncated(
    _ place: Int, _ index: Int, _ outcome: OutcomeKind, because reason: String, at now: Instant
  ) {
    let length = max(0, reason.utf8.count - Self.participantOverhead / 2)
    let isKept = length == 0 || chargeAnswer(length, to: queries[place].asker.slot)
    queries[place].settle(
      index, outcome, reason: isKept ? reason : "", byteCount: isKept ? length : 0, at: now)
  }

  mutating func deferAnswer(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let fields = try frame.decode(Defer.self)
    let (place, index) = try waitingParticipant(fields.query, fields.delegate, ofUserAt: slot)
    let until = queries[place].extend(index, to: now.advanced(byMilliseconds: fields.extension))
    emitProgress(place, index, .deferred, timeout: until.milliseconds(since: now), status: frame.text())
    queries[place].endTurn(index)
    emitWaitingQuestions(of: queries[place].participants[index].delegate.inbox, at: now)
    if frame.header.flags.contains(.acknowledge) { emit(.okay(slot, frame.header.serial, Okay())) }
  }

  /// Finds the participant that a delegate's frame is about. Throws if the bus has not asked this delegate,
  /// or if the query no longer waits for its answer.
  ///
  /// A replay also accepts a delegate that this bus has not asked. The earlier bus asked it, perhaps because
  /// of a higher limit of questions at a time.
  private mutating func waitingParticipant(
    _ query: QueryID, _ delegate: DelegateID, at slot: ConnectionSlot
  ) throws(WireError) -> (place: Int, participant: Int) {
    guard let place = queries.place(of: query),
      let index = queries[place].waitingIndex(of: delegate),
      queries[place].participants[index].delegate.slot == slot,
      queries[place].participants[index].wasAsked || restoring.isReplaying
    else {
      throw WireError(.notAsked, "query \(query.rawValue) does not wait for delegate \(delegate.rawValue)")
    }
    if !queries[place].participants[index].wasAsked { queries[place].markAskedBefore(index) }
    return (place, index)
  }

  /// Accepts any connection of the delegate's user: a process that a delegate starts has its own connection.
  /// If `delegate` is 0, finds the user's only delegate for which the query waits.
  private mutating func waitingParticipant(
    _ query: QueryID, _ delegate: DelegateID, ofUserAt slot: ConnectionSlot
  ) throws(WireError) -> (place: Int, participant: Int) {
    let user = connections[slot].peer.uid
    guard let place = queries.place(of: query) else {
      throw WireError(.notAsked, "query \(query.rawValue) does not exist, or has ended")
    }
    if delegate.rawValue != 0 {
      guard let index = queries[place].waitingIndex(of: delegate),
        queries[place].participants[index].delegate.identity.peer.uid == user,
        queries[place].participants[index].wasAsked
      else { return try waitingParticipant(query, delegate, at: slot) }
      return (place, index)
    }
    let indices = queries[place].participants.indices.filter { index in
      guard case .waiting = queries[place].participants[index].state,
        queries[place].participants[index].wasAsked
      else { return false }
      return queries[place].participants[index].delegate.identity.peer.uid == user
    }
    guard let index = indices.first else {
      throw WireError(.notAsked, "query \(query.rawValue) does not wait for a delegate of user \(user)")
    }
    guard indices.count == 1 else {
      throw WireError(
        .invalidValue,
        "query \(query.rawValue) waits for \(indices.count) delegates of user \(user): name one")
    }
    return (place, index)
  }

  package mutating func failQuestion(
    _ query: QueryID, _ delegate: DelegateID, reason: String, at now: Instant
  ) {
    guard let place = queries.place(of: query), let index = queries[place].waitingIndex(of: delegate)
    else { return }
    let inbox = queries[place].participants[index].delegate.inbox
    queries[place].settleUnreached(index, reason: reason, at: now)
    proceed(place, tail: nil, at: now)
    emitWaitingQuestions(of: inbox, at: now)
  }

  // MARK: Time

  package func overdueSlots(at now: Instant) -> [ConnectionSlot] {
    var slots: Set<ConnectionSlot> = []
    for due in deadlines.allDue(at: now) {
      switch due {
      case .hold: break
      case .awaitedPost(let number): slots.formUnion(awaitedPosts[number].waiting)
      case .query(let place): slots.formUnion(queries[place].overdueSlots(at: now))
      }
    }
    return slots.sorted { $0.index < $1.index }
  }

  /// - Parameter unheard: connections whose input the bus has not read to its end. Overdue timeouts of
  ///   answers and acknowledgements from these connections move to `end`.
  package mutating func advance(
    to now: Instant, waitingFor unheard: Set<ConnectionSlot> = [], until end: Instant? = nil
  ) {
    if let end, !unheard.isEmpty { prolong(unheard, at: now, until: end) }
    while let due = deadlines.firstDue(at: now) {
      switch due {
      case .hold(let hold): expire(hold, at: now)
      case .awaitedPost(let number): expire(awaitedPost: number, at: now)
      case .query(let place):
        let unread = queries[place].expire(at: now)
        for inbox in unread { reportUnread(inbox) }
        proceed(place, tail: nil, at: now)
      }
    }
  }

  private mutating func prolong(_ slots: Set<ConnectionSlot>, at now: Instant, until end: Instant) {
    for due in deadlines.allDue(at: now) {
      switch due {
      case .hold: break
      case .awaitedPost(let number):
        let post = awaitedPosts[number]
        if let deadline = post.deadline, !post.waiting.isDisjoint(with: slots) {
          deadlines.set(deadline, due: end)
        }
      case .query(let place): queries[place].prolong(slots, at: now, until: end)
      }
    }
  }

  // MARK: Proceeding

  /// - Parameter tail: the name, object and userInfo of the query. nil means the copy in `queries`.
  private mutating func proceed(_ place: Int, tail: QueryTail?, at now: Instant) {
    var asked = false
    while let index = queries[place].takeNext(at: now) {
      asked = true
      let isPrivileged = connections[queries[place].asker.slot].account.isPrivileged
      if queries[place].takeTurn(index, isPrivileged: isPrivileged, of: limits.questionsAtATime) {
        emitQuestion(place, index, tail ?? queries.tail(at: place), at: now)
      } else {
        precondition(
          tail == nil || tail?.payloadLength == queries.tail(at: place).payloadLength,
          "a question waits for its turn, and its userInfo is not kept")
        reportUnread(queries[place].participants[index].delegate.inbox)
      }
    }
    for index in queries[place].takeSettled() {
      guard case .settled(let outcome, let reason) = queries[place].participants[index].state else {
        preconditionFailure("participant \(index) is not settled")
      }
      emitProgress(place, index, .settled, outcome, timeout: 0, status: reason)
    }
    if queries[place].isDecided() {
      conclude(place, at: now)
    } else if asked || deadlines.nextDue.map({ $0 <= now }) == true {
      queries.setDue(queries[place].nextExpiry, at: place, &deadlines)
    }
  }

  mutating func emitQuestion(_ place: Int, _ index: Int, _ tail: QueryTail, at now: Instant) {
    let delegate = queries[place].participants[index].delegate
    guard case .waiting(let until) = queries[place].participants[index].state else {
      preconditionFailure("participant \(index) was asked, but is not waiting")
    }
    queries[place].markAsked(index)
    let timeout = until.milliseconds(since: now)
    emit(
      .question(
        delegate.slot, delegate.serial, asker: queries[place].asker.id,
        Question(
          query: queries[place].id, delegate: delegate.identity.id, timeout: timeout,
          asker: queries[place].asker.peer, isDryRun: queries[place].ask.flags.contains(.isDryRun),
          wantsValue: queries[place].isForValues),
        tail))
    if queries[place].ask.flags.contains(.wantsProgress) {
      emitProgress(place, index, .asked, timeout: timeout, status: "")
    }
  }

  private mutating func emitProgress(
    _ place: Int, _ index: Int, _ stage: ProgressStage, _ outcome: OutcomeKind = .approved,
    timeout: UInt32, status: String
  ) {
    let progress = Progress(
      query: queries[place].id, delegate: queries[place].participants[index].delegate.identity,
      timeout: timeout, stage: stage, outcome: outcome)
    emit(
      .progress(
        queries[place].asker.slot, queries[place].asker.serial, progress, status: status, shownTail(at: place)
      ))
  }

  private mutating func conclude(_ place: Int, at now: Instant) {
    if holds.count > 0 || queries[place].ask.slots > 0, queries[place].standing.isEmpty,
      !queries[place].isForValues
    {
      // Add the holds that were taken, and the actions that began, while the query was open, and have not ended.
      let tail = queries.tail(at: place)
      var standing = standingHolds(
        against: tail.key, nameLength: tail.nameLength, from: queries[place].asker.id)
      standing.add(
        standingActions(
          in: queries[place].ask.slots, against: tail.key, nameLength: tail.nameLength,
          from: queries[place].asker.id, at: now))
      queries[place].add(standing)
    }
    let result = queries[place].conclude(within: OutcomeBudget(limits))
    var verdict = result.verdict
    if queries[place].mayBeMisspelt, !restoring.isReplaying {
      verdict.similarName = similarName(
        to: queries.tail(at: place).name, for: queries[place].asker.slot)
    }
    let conclusion: ConclusionKind = if case .allowed = verdict.verdict { .allowed } else { .vetoed }
    if !verdict.isDryRun, !queries[place].isForValues {
      totals.asked += 1
      if case .vetoed = conclusion { totals.vetoed += 1 }
    }
    count(verdict, ofQueryAt: place, at: now)
    emit(
      .verdict(
        queries[place].asker.slot, queries[place].asker.serial,
        Decision(
          verdict: verdict, vetoes: result.vetoes, omittedVetoCount: result.omittedVetoCount,
          mode: queries[place].ask.mode,
          asker: queries[place].asker.id, askerPeer: queries[place].asker.peer,
          overrideReason: queries[place].ask.overrideReason,
          elapsedNanoseconds: now.nanoseconds(since: queries[place].started)),
        queries.tail(at: place)))
    guard case .allowed = conclusion, queries[place].ask.flags.contains(.begins) else {
      return end(place, conclusion, at: now)
    }
    let (id, asker) = (queries[place].id, queries[place].asker)
    let tail = queries.tail(at: place)
    end(place, conclusion, at: now)
    beginAction(of: id, asker, tail, at: now)
  }

  mutating func cancel(_ query: QueryID, at now: Instant) {
    guard let place = queries.place(of: query) else {
      preconditionFailure("query \(query.rawValue) has ended")
    }
    end(place, .cancelled, at: now)
  }

  mutating func end(_ place: Int, _ conclusion: ConclusionKind, at now: Instant) {
    let id = queries[place].id
    if case .cancelled = conclusion { queries[place].tally?.update { $0.cancelled &+= 1 } }
    for index in queries[place].participants.indices where queries[place].participants[index].wasAsked {
      let delegate = queries[place].participants[index].delegate
      guard delegate.isAttached else { continue }
      let concluded = Concluded(query: id, delegate: delegate.identity.id, conclusion: conclusion)
      emit(.concluded(delegate.slot, delegate.serial, concluded, shownTail(at: place)))
    }
    if isObserved, !queries[place].ask.flags.contains(.isDryRun) {
      let ending = ending(place, conclusion, at: now)
      announce(.didConclude(ending))
    }
    if queries[place].waitingCount > 0 {
      queries[place].stopWaiting()
      for index in queries[place].participants.indices {
        reportUnread(queries[place].participants[index].delegate.inbox)
      }
    }
    let asker = queries[place].asker.slot
    connections[asker].queries[queries[place].asker.serial] = nil
    connections[asker].participantCount -= queries[place].participants.count
    endRemembering(
      queries[place].rememberedByteCount, kept: queries.tail(at: place).payloadLength,
      exempt: queries[place].exemptByteCount, answers: queries[place].answerByteCount, of: asker)
    queries.remove(at: place, &deadlines)
  }

  private mutating func ending(_ place: Int, _ conclusion: ConclusionKind, at now: Instant) -> QueryEnding {
    let tail = queries.tail(at: place)
    return QueryEnding(
      query: queries[place].id, name: tail.nameText, object: tail.objectText, conclusion: conclusion,
      mode: queries[place].ask.mode, asker: queries[place].asker.id, askerPeer: queries[place].asker.peer,
      vetoCount: queries[place].vetoCount,
      elapsedNanoseconds: now.nanoseconds(since: queries[place].started))
  }

  mutating func settleGone(_ delegates: [DelegateRegistration], at now: Instant) {
    var gone: [QueryID: [DelegateID]] = [:]
    for delegate in delegates {
      for query in delegate.openQueries { gone[query, default: []].append(delegate.identity.id) }
    }
    for (query, delegates) in gone.sorted(by: { $0.key < $1.key }) {
      guard let place = queries.place(of: query) else {
        preconditionFailure("query \(query.rawValue) has ended, but waits for delegates")
      }
      for delegate in delegates {
        guard let index = queries[place].waitingIndex(of: delegate) else {
          preconditionFailure("query \(query.rawValue) does not wait for delegate \(delegate.rawValue)")
        }
        queries[place].settle(index, .gone, reason: "", at: now)
        reportUnread(queries[place].participants[index].delegate.inbox)
      }
      proceed(place, tail: nil, at: now)
    }
  }
}

extension RawSpan {
  fileprivate var reason: String {
    let length = min(byteCount, WireLimits.reasonLength)
    return String(repairing: extracting(first: length)).prefix(utf8Length: WireLimits.reasonLength)
  }
}

extension FrameView {
  func text() -> String { payload.reason }
}

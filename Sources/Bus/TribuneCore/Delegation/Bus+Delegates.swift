// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

extension Bus {
  // MARK: Delegates

  mutating func attach(
    _ frame: FrameView, from slot: ConnectionSlot, _ context: LoggedContext?, at now: Instant
  ) throws(WireError) -> Acceptance {
    let fields = try frame.decode(Attach.self)
    let serial = frame.header.serial
    try frame.object.requireOneObject()
    let object = String(repairing: frame.object)
    guard !fields.patterns.isEmpty else {
      throw WireError(.invalidPattern, "a delegate must respond to at least one name")
    }
    try requireLabel(fields.label)
    var patterns: [Pattern] = []
    for text in fields.patterns {
      let pattern = try Pattern(text)
      if WellKnownQuestions.meant(by: text) != nil { throw neverAsked(text, .invalidPattern) }
      try requireAskers(of: text, .invalidPattern)
      try requireForm(of: object, for: text)
      if !patterns.contains(pattern) { patterns.append(pattern) }
    }
    try requireFresh(serial, from: slot)

    try requirePermission(.delegate, on: patterns, object: object, from: slot)
    let dedupKey = DelegateRegistration.dedupKey(object: object, patterns: patterns, label: fields.label)
    // Refuse an equal delegate, instead of merging the two: their failure policies can differ, and one can
    // end before the other.
    guard !connections[slot].delegateKeys.contains(dedupKey) else {
      throw WireError(
        .conflict, "this connection has a delegate with the same names, object and label: detach that first")
    }
    let before = fields.isSet ? try replaceable(of: object, by: patterns, from: slot, context) : []
    guard before.count <= limits.delegatesMax else {
      throw WireError(
        limit: "\(limits.delegatesMax) delegates that one can replace", setting: "DelegatesMax=")
    }
    try requireConforming(frame.object, patterns, fields.protocols)
    try accounts.require(patterns.count, of: .registrations, for: connections[slot].account)
    // Delegates of this connection that the new delegate replaces do not count in the limits.
    let replaced = before.filter { $0.slot == slot }
    try requireDelegateCapacity(from: slot, replacing: replaced.count)
    let patternCount =
      connections[slot].delegatePatterns.count - replaced.reduce(0) { $0 + $1.patterns.count }
      + patterns.count
    guard patternCount <= limits.patternsMax else {
      throw WireError(limit: "\(limits.patternsMax) patterns for the delegates of a connection")
    }
    let tokenCount =
      connections[slot].delegatePatterns.tokenCount - replaced.reduce(0) { $0 + $1.patternTokenCount }
      + patterns.reduce(0) { $0 + $1.tokenCount }
    guard tokenCount <= limits.patternTokensMax else {
      throw WireError(limit: "\(limits.patternTokensMax) tokens in the patterns of a connection's delegates")
    }
    let delegate = DelegateRegistration(
      identity: DelegateIdentity(id: makeDelegateID(), label: fields.label, peer: connections[slot].peer),
      connection: connections[slot].id, slot: slot, serial: serial, object: object, order: fields.order,
      failurePolicy: fields.failurePolicy,
      timeout: fields.timeout == 0 ? context?.delegateTimeout ?? limits.delegateTimeout : fields.timeout,
      patterns: patterns,
      inbox: inbox(of: slot),
      tally: tallies.participants.tally(
        of: ParticipantKey(.delegate, connections[slot].peer, label: fields.label),
        for: connections[slot].peer.uid))
    delegate.tally.userCount.value += 1
    chains.insert(delegate)
    center.add(delegate)
    connections[slot].delegates[serial] = delegate
    connections[slot].delegatePatterns.count += patterns.count
    connections[slot].delegatePatterns.tokenCount += delegate.patternTokenCount
    connections[slot].delegateKeys.insert(dedupKey)
    let late = actions.count(metBy: patterns, object.isEmpty ? nil : ExactText(object))
    emit(
      .okay(
        slot, serial,
        Okay(registration: serial, delegate: delegate.identity.id.rawValue, late: UInt32(clamping: late))))
    let replacement = delegate.replacementEntry
    for other in before { emit(.ended(other.slot, other.serial, .replaced(replacement))) }
    detach(before, at: now)
    announce(.didAttach(delegate))
    var acceptance = Acceptance()
    acceptance.delegate = delegate.identity.id
    acceptance.chargedLength = (context?.replacedCount ?? before.count) * MemoryLayout<UInt64>.size
    acceptance.context = LoggedContext.ofAttach(timeout: limits.delegateTimeout, replacing: before)
    return acceptance
  }

  mutating func inbox(of slot: ConnectionSlot) -> QuestionInbox {
    if let inbox = connections[slot].inbox { return inbox }
    let inbox = QuestionInbox(of: slot)
    connections[slot].inbox = inbox
    return inbox
  }

  /// The delegates that an `attach` with *set* replaces. Omits those that the connection is not permitted to
  /// replace (`mayReplace`). With an object, *set* replaces the delegates of this object. Without an object,
  /// *set* replaces only delegates without an object, if their patterns overlap with the new ones: the other
  /// delegates can be about unrelated things. During a replay, the log determines the replaced delegates.
  private func replaceable(
    of object: String, by patterns: [Pattern], from slot: ConnectionSlot, _ context: LoggedContext?
  ) throws(WireError) -> [DelegateRegistration] {
    let delegates = chains.delegates(of: object)
    if case .attach(_, let replaced) = context {
      return delegates.filter { replaced.contains($0.identity.id) }
    }
    guard object.isEmpty else { return delegates.filter { mayReplace($0, from: slot) } }
    let count = patterns.count * delegates.reduce(0) { $0 + $1.patterns.count }
    guard count <= Self.comparisonsMax else {
      throw WireError(limit: "\(Self.comparisonsMax) comparisons of names to find the delegates to replace")
    }
    return delegates.filter { delegate in
      delegate.patterns.contains { one in patterns.contains { one.overlaps($0) } }
        && mayReplace(delegate, from: slot)
    }
  }

  private static var comparisonsMax: Int { 1 << 17 }

  /// Detaches delegates. All of them leave their chains before any query proceeds and asks further delegates.
  mutating func detach(_ delegates: [DelegateRegistration], at now: Instant) {
    // Remove the last delegates first: in the arrays of `chains`, each removal moves all delegates behind it.
    for delegate in delegates.reversed() {
      leave(delegate)
      connections[delegate.slot].delegates[delegate.serial] = nil
      releaseCharge(of: delegate.serial, count: delegate.patterns.count, from: delegate.slot)
      connections[delegate.slot].delegatePatterns.count -= delegate.patterns.count
      connections[delegate.slot].delegatePatterns.tokenCount -= delegate.patternTokenCount
      connections[delegate.slot].delegateKeys.remove(delegate.dedupKey)
    }
    settleGone(delegates, at: now)
  }

  /// Removes the delegate from its chain. The caller must then call `settleGone`, which settles the
  /// delegate's open questions.
  mutating func leave(_ delegate: DelegateRegistration) {
    chains.remove(delegate)
    center.remove(delegate)
    delegate.isAttached = false
    delegate.tally.userCount.value -= 1
    announce(.didDetach(delegate))
  }

  private func requireDelegateCapacity(
    from slot: ConnectionSlot, replacing replacedCount: Int = 0
  ) throws(WireError) {
    guard connections[slot].delegateCount - replacedCount < limits.delegatesMax else {
      throw WireError(
        limit: "\(limits.delegatesMax) delegates and holds per connection", setting: "DelegatesMax=")
    }
  }

  // MARK: Holds

  mutating func hold(
    _ frame: FrameView, from slot: ConnectionSlot, _ context: LoggedContext?, at now: Instant
  ) throws(WireError) -> Acceptance {
    let fields = try frame.decode(Hold.self)
    let serial = frame.header.serial
    let pattern = try frame.pattern()
    try frame.object.requireOneObject()
    try requireForm(of: String(repairing: frame.object), for: pattern.text)
    let why = try reason(in: frame)
    try requireLabel(fields.label)
    guard fields.expiry <= WireLimits.expiry else {
      throw WireError(.invalidValue, "the expiry of the hold is later than the clock can show")
    }
    let wanted = fields.expiry == 0 ? nil : Instant(nanoseconds: fields.expiry)
    if let wanted, wanted <= now { throw WireError(.invalidValue, "the hold has already expired") }
    try requireFresh(serial, from: slot)
    try requirePermission(.hold, on: [pattern], object: String(repairing: frame.object), from: slot)
    try requireDelegateCapacity(from: slot)
    guard WellKnownQuestions.canBeAsked(pattern.text) else { throw neverAsked(pattern.text, .invalidPattern) }
    try requireAskers(of: pattern.text, .invalidPattern)
    let holder = try holder(fields.holder, from: slot)
    let object = frame.object.byteCount == 0 ? nil : String(repairing: frame.object)
    let limit = context?.holdExpiry ?? holdLimit(of: pattern, object: object, from: slot, at: now)
    let expiry = [wanted, limit].compactMap(\.self).min()
    let connection = connections[slot].id
    let hold = HoldRegistration(
      identity: DelegateIdentity(id: makeDelegateID(), label: fields.label, peer: holder),
      connection: connection, slot: slot, serial: serial, pattern: pattern,
      object: object, why: why, taken: now, expiry: expiry)
    holds.insert(hold, &deadlines)
    connections[slot].holds[serial] = hold
    actions.add(late: hold)
    emit(
      .okay(
        slot, serial,
        Okay(
          registration: serial, delegate: hold.identity.id.rawValue, late: UInt32(clamping: hold.lateCount),
          expiry: expiry?.nanoseconds ?? 0)))
    announce(.didTake(hold.entry(at: now)))
    var acceptance = Acceptance()
    acceptance.delegate = hold.identity.id
    if let expiry, expiry != wanted { acceptance.context = LoggedContext.ofHold(expiry: expiry) }
    return acceptance
  }

  /// The latest end that the configuration and the policy allow to a hold taken now. nil for no limit, and
  /// during a replay.
  private func holdLimit(
    of pattern: Pattern, object: String?, from slot: ConnectionSlot, at now: Instant
  ) -> Instant? {
    if restoring.isReplaying { return nil }
    let limits = [policy.holdMax(of: pattern), permittedHoldMax(of: pattern, object: object, from: slot)]
    return limits.compactMap(\.self).min().map {
      min(now.advanced(by: $0), Instant(nanoseconds: WireLimits.expiry))
    }
  }

  private func reason(in frame: FrameView) throws(WireError) -> String {
    let why = frame.text()
    guard !why.isBlank else { throw WireError(.invalidValue, "a hold needs a reason") }
    return why
  }

  /// Changes the reason of a hold. If the holder took a new hold instead, the release of the old one would
  /// make waiting clients ask again without need.
  mutating func amend(_ frame: FrameView, from slot: ConnectionSlot, at now: Instant) throws(WireError) {
    let (target, serial) = (try frame.decode(Amend.self).target, frame.header.serial)
    let why = try reason(in: frame)
    try requireFresh(serial, from: slot)
    guard let hold = connections[slot].holds[target] else {
      throw WireError(.notFound, "there is no hold with serial \(target)")
    }
    forgetAmendment(of: hold)
    (hold.why, hold.amendment) = (why, serial)
    connections[slot].amendedHolds[serial] = hold
    emit(.okay(slot, serial, Okay(registration: target, delegate: hold.identity.id.rawValue)))
    announce(.didChange(hold.entry(at: now)))
  }

  private mutating func forgetAmendment(of hold: HoldRegistration) {
    guard let serial = hold.amendment else { return }
    connections[hold.slot].amendedHolds[serial] = nil
    releaseCharge(of: serial, from: hold.slot)
  }

  private func holder(_ named: PeerIdentity?, from slot: ConnectionSlot) throws(WireError) -> PeerIdentity {
    guard let named else { return connections[slot].peer }
    guard connections[slot].account.isPrivileged || restoring.isReplaying else {
      throw WireError(.notPermitted, "only root and the user that runs the bus may hold for another process")
    }
    let units = named.units
    guard [named.process, units.system, units.user].allSatisfy({ $0.utf8.count <= WireLimits.labelLength })
    else {
      throw WireError(.limitExceeded, "a name of the holder is longer than \(WireLimits.labelLength) bytes")
    }
    return named
  }

  /// The error for a name that clients never ask. A hold or delegate with such a name would have no effect.
  func neverAsked(_ name: String, _ code: ErrorCode) -> WireError {
    WireError(code, "\"\(name)\" is never asked: \(WellKnownQuestions.hint(for: name))")
  }

  func requireAskers(of name: String, _ code: ErrorCode) throws(WireError) {
    guard limits.isForUser, WellKnownQuestions.areOnlyAskedOnSystemBus(name) else { return }
    throw WireError(code, "\(name) is asked on the system's bus, and this is a user's")
  }

  /// Throws if queries of this name never have such an object. A veto for this object would have no effect.
  func requireForm(of object: String, for pattern: String) throws(WireError) {
    guard let meant = WellKnownQuestions.object(meantBy: object, for: pattern) else { return }
    throw WireError(
      .invalidObject, "\"\(object.escaped)\" is no object of \(pattern): did you mean \(meant.escaped)?")
  }

  private func requireLabel(_ label: String) throws(WireError) {
    guard label.utf8.count <= WireLimits.labelLength else {
      throw WireError(.limitExceeded, "the label is longer than \(WireLimits.labelLength) bytes")
    }
  }

  mutating func release(_ hold: HoldRegistration, isExpired: Bool = false, at now: Instant) {
    connections[hold.slot].holds[hold.serial] = nil
    forgetAmendment(of: hold)
    releaseCharge(of: hold.serial, from: hold.slot)
    leave(hold, isExpired: isExpired, at: now)
  }

  /// Every hold ends in this method. Open queries keep the hold's veto.
  mutating func leave(_ hold: HoldRegistration, isExpired: Bool = false, at now: Instant) {
    holds.remove(hold, &deadlines)
    actions.forget(late: hold)
    announce(.didRelease(hold.entry(at: now), isExpired: isExpired))
  }

  mutating func expire(_ hold: HoldRegistration, at now: Instant) {
    emit(.expired(hold.slot, hold.serial, hold.entry(at: now)))
    release(hold, isExpired: true, at: now)
  }
}

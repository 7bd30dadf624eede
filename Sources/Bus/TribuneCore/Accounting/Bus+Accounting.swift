// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Charges to the accounts of users.
extension Bus {
  /// Bytes charged for a registration besides its frame.
  private static let registrationOverhead = 64
  /// Bytes charged for a query or an awaited post besides its content.
  private static let underWayOverhead = 192
  /// Bytes charged for each participant of a query or an awaited post, and for each outcome that stands against a
  /// query, besides reason and names. They include the bus's own text about it.
  static let participantOverhead = 128

  /// Releases the registrations of a connection that is about to go. Its queries have ended already.
  mutating func closeAccount(of slot: ConnectionSlot) {
    let account = connections[slot].account
    let lengths = connections[slot].registeredLengths
    if connections[slot].isDetached { countDetached(slot, times: -1) }
    accounts.charge(-lengths.values.reduce(0, +), of: .log, to: account)
    accounts.charge(-connections[slot].chargedRegistrationCount, of: .registrations, to: account)
    account.charges.connectionCount -= 1
    precondition(
      account.charges.connectionCount > 0 || account.uses[.log] == 0 && account.uses[.registrations] == 0,
      "user \(account.uid) has no connection, but \(account.uses[.log]) bytes are charged")
  }

  /// A connection is detached: its client may come back, and register the same again, beside what it has.
  package mutating func noteDetached(_ slot: ConnectionSlot) {
    connections[slot].isDetached = true
    countDetached(slot, times: 1)
  }

  private mutating func countDetached(_ slot: ConnectionSlot, times factor: Int) {
    let (account, lengths) = (connections[slot].account, connections[slot].registeredLengths)
    account.charges.detached[.connections] += factor
    account.charges.detached[.registrations] += factor * connections[slot].chargedRegistrationCount
    account.charges.detached[.log] += factor * lengths.values.reduce(0, +)
  }

  // MARK: Registrations

  /// Handles a frame that registers something, if its user's account has capacity for it.
  mutating func register(_ frame: FrameView, from slot: ConnectionSlot, at now: Instant) throws(WireError) {
    let account = connections[slot].account
    var length = frame.header.frameLength + Self.registrationOverhead
    try requireCapacity(toRemember: length, from: slot)
    try accounts.require(1, of: .registrations, for: account)
    let serial = frame.header.serial
    switch frame.header.kind {
    case .observe: try observe(frame, from: slot, at: now)
    case .monitor: try monitor(frame, from: slot)
    // The log has the ids of those that a delegate replaces.
    case .attach: length += try attach(frame, from: slot, at: now) * MemoryLayout<UInt64>.size
    case .hold: try hold(frame, from: slot, at: now)
    case .amend: try amend(frame, from: slot, at: now)
    case .declare: try declare(frame, from: slot)
    default: preconditionFailure("a frame of kind \(frame.header.rawKind) does not register anything")
    }
    // A delegate with the dedup key of an attached one is not a new registration.
    guard connections[slot].hasRegistered(serial) else { return }
    connections[slot].registeredLengths[serial] = length
    accounts.charge(length, of: .log, to: account)
    let count = connections[slot].delegates[serial]?.patterns.count ?? 1
    accounts.charge(count, of: .registrations, to: account)
  }

  /// Charges `length` more bytes for a registration, besides its frame.
  package mutating func charge(_ length: Int, toRegistration serial: Serial, of slot: ConnectionSlot) {
    connections[slot].registeredLengths.change(serial) { $0 = ($0 ?? 0) + length }
    accounts.charge(length, of: .log, to: connections[slot].account)
  }

  /// Releases the charge for a registration.
  ///
  /// - Parameter count: as how many registrations it counts.
  mutating func releaseCharge(of serial: Serial, count: Int = 1, from slot: ConnectionSlot) {
    guard let length = connections[slot].registeredLengths[serial] else { return }
    let account = connections[slot].account
    connections[slot].registeredLengths[serial] = nil
    accounts.charge(-length, of: .log, to: account)
    accounts.charge(-count, of: .registrations, to: account)
    guard connections[slot].isDetached else { return }
    account.charges.detached[.log] -= length
    account.charges.detached[.registrations] -= count
  }

  // MARK: Queries and awaited posts under way

  /// Bytes charged for a query while it is under way, without its userInfo and its answers.
  ///
  /// - Parameter keyLength: bytes of its name and object.
  mutating func rememberedLength(
    _ ask: Ask, keyLength: Int, _ delegates: [DelegateRegistration], _ standing: [Outcome]
  ) -> Int {
    // Without delegates, or with a standing outcome that decides it, a query ends at once.
    guard !delegates.isEmpty, standing.isEmpty || ask.waitsForAll else { return 0 }
    var length = Self.underWayOverhead + keyLength + ask.overrideReason.utf8.count
    for delegate in delegates { length += delegate.rememberedLength }
    for outcome in standing { length += outcome.delegate.rememberedLength + outcome.reason.utf8.count }
    return length
  }

  /// Bytes charged for an awaited post while it is under way, without its answers.
  ///
  /// - Parameter keyLength: bytes of its name and object, if they are kept.
  mutating func rememberedLength(
    keyLength: Int, of waiting: Set<ConnectionSlot>, missing: [MissingObserver] = []
  ) -> Int {
    guard !waiting.isEmpty else { return 0 }
    var length = Self.underWayOverhead + keyLength
    for slot in waiting { length += Self.participantOverhead + connections[slot].peer.textLength }
    for one in missing { length += Self.participantOverhead + one.peer.textLength }
    return length
  }

  /// - Throws: `limitExceeded` if the log has no capacity for `length` more bytes of the connection's user. Answers of
  ///   others do not use up the user's share.
  mutating func requireCapacity(toRemember length: Int, from slot: ConnectionSlot) throws(WireError) {
    guard length > 0 else { return }
    let account = connections[slot].account
    try accounts.require(
      length, of: .log, for: account,
      leavingOut: account.charges.answerByteCount + account.charges.exemptByteCount)
  }

  /// How much of the userInfo that a query keeps does not count in its user's share: all, if the user has no other query
  /// that keeps any, and the log has capacity for it.
  ///
  /// - Parameter other: further bytes to be charged for the query.
  @inline(__always) func exemptLength(
    ofKept length: Int, beside other: Int, from slot: ConnectionSlot
  ) -> Int {
    length > 0 && connections[slot].account.charges.keepingCount == 0
      && accounts.leavesEnough(other + length, of: .log) ? length : 0
  }

  /// Charges for a query or an awaited post that begins.
  ///
  /// - Parameters:
  ///   - length: bytes to charge.
  ///   - kept: bytes of its userInfo, which is kept.
  ///   - exempt: how many of them do not count in the user's share.
  mutating func beginRemembering(
    _ length: Int, kept: Int = 0, exempt: Int = 0, of slot: ConnectionSlot
  ) {
    accounts.charge(length + kept, of: .log, to: connections[slot].account)
    guard kept > 0 else { return }
    connections[slot].questionByteCount += kept
    connections[slot].account.charges.keepingCount += 1
    connections[slot].account.charges.exemptByteCount += exempt
  }

  /// Releases what `beginRemembering` charged.
  ///
  /// - Parameter answers: bytes charged for its answers.
  mutating func endRemembering(
    _ length: Int, kept: Int = 0, exempt: Int = 0, answers: Int, of slot: ConnectionSlot
  ) {
    accounts.charge(-length - kept, of: .log, to: connections[slot].account)
    if answers > 0 { countAnswers(-answers, to: slot) }
    guard kept > 0 else { return }
    connections[slot].questionByteCount -= kept
    connections[slot].account.charges.keepingCount -= 1
    connections[slot].account.charges.exemptByteCount -= exempt
  }

  /// - Parameter length: bytes of an answer to an asker, or to a poster that waits.
  /// - Returns: whether there is capacity for them; if so, they are charged. One answer may be longer than the share, if
  ///   no others are charged to the account and the log has capacity for it.
  mutating func chargeAnswer(_ length: Int, to slot: ConnectionSlot) -> Bool {
    let account = connections[slot].account
    guard connections[slot].answerByteCount + length <= limits.answersMax,
      // The verdict would not be read either.
      !accounts.isOverShare(of: .queues, account),
      account.charges.answerByteCount == 0 && accounts.leavesEnough(length, of: .log)
        || account.uses[.log] + length <= accounts.share(of: .log, for: account)
    else { return false }
    countAnswers(length, to: slot)
    return true
  }

  /// - Parameter length: bytes to charge; negative to release them.
  mutating func countAnswers(_ length: Int, to slot: ConnectionSlot) {
    connections[slot].answerByteCount += length
    connections[slot].account.charges.answerByteCount += length
    accounts.charge(length, of: .log, to: connections[slot].account)
  }

  // MARK: Retained notifications

  /// Charges bytes for a notification to retain.
  ///
  /// - Parameter replaced: the notification that it will replace.
  /// - Throws: `limitExceeded`.
  func chargeRetained(
    _ size: Int, to user: UInt32, replacing replaced: RetainedNotification?
  ) throws(WireError) {
    let account = accounts.account(of: user)
    if let replaced { accounts.charge(-replaced.cost, of: .retained, to: replaced.uid) }
    defer { if let replaced { accounts.charge(replaced.cost, of: .retained, to: replaced.uid) } }
    try accounts.require(size, of: .retained, for: account)
    accounts.charge(size, of: .retained, to: account)
  }
}

extension PeerIdentity {
  var textLength: Int { process.utf8.count + units.text.utf8.count }
}

extension DelegateIdentity {
  /// Bytes charged for a delegate in a query that it takes part in, or for a hold that stands against a query.
  var rememberedLength: Int { Bus.participantOverhead + label.utf8.count + peer.textLength }
}

// MARK: Listing

extension Bus {
  /// What users have and may have of each resource, those whom the connection may see.
  package mutating func accountEntries(for slot: ConnectionSlot) -> [AccountEntry] {
    accounts.countConnections()
    accounts.countDescriptors()
    var entries: [AccountEntry] = []
    let visible = visibleUsers(for: slot)
    for account in accounts.nonEmpty where visible.contains(account.uid) {
      for resource in SharedResource.allCases {
        entries.append(
          AccountEntry(
            uid: account.uid, weight: UInt32(account.weight), isPrivileged: account.isPrivileged,
            resource: resource.name, used: UInt64(account.uses[resource]),
            share: UInt64(accounts.share(of: resource, for: account)),
            total: UInt64(accounts.total(of: resource))))
      }
    }
    return entries
  }
}

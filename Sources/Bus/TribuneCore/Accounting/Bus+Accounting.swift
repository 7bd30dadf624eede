// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Bus {
  /// The bytes charged for a registration, in addition to its frame.
  private static let registrationOverhead = 64
  /// The bytes charged for a query or an awaited post, in addition to its content.
  private static let underWayOverhead = 192
  /// The bytes charged for each participant and each standing outcome of a query, and for each observer of an
  /// awaited post, in addition to their texts.
  static let participantOverhead = 128

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

  /// Marks a connection whose client has not returned after a restart. The charges of this connection then do
  /// not count in the user's share. If they did, the same registrations would count twice when the client
  /// registers again.
  package mutating func markDetached(_ slot: ConnectionSlot) {
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

  mutating func register(
    _ frame: FrameView, from slot: ConnectionSlot, _ context: LoggedContext?, at now: Instant
  ) throws(WireError) -> Acceptance {
    let account = connections[slot].account
    let length = frame.header.frameLength + Self.registrationOverhead
    try requireCapacity(toRemember: length, from: slot)
    try accounts.require(1, of: .registrations, for: account)
    let serial = frame.header.serial
    var acceptance = Acceptance()
    switch frame.header.kind {
    case .observe: try observe(frame, from: slot, at: now)
    case .monitor: try monitor(frame, from: slot)
    case .attach: acceptance = try attach(frame, from: slot, context, at: now)
    case .hold: acceptance = try hold(frame, from: slot, context, at: now)
    case .amend: try amend(frame, from: slot, at: now)
    case .declare: acceptance = try declare(frame, from: slot, context)
    default: preconditionFailure("a frame of kind \(frame.header.rawKind) does not register anything")
    }
    acceptance.isRegistered = connections[slot].hasRegistered(serial)
    guard acceptance.isRegistered else { return acceptance }
    connections[slot].registeredLengths[serial] = length + acceptance.chargedLength
    accounts.charge(length + acceptance.chargedLength, of: .log, to: account)
    let count = connections[slot].delegates[serial]?.patterns.count ?? 1
    accounts.charge(count, of: .registrations, to: account)
    return acceptance
  }

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

  /// The bytes charged for a query, without its userInfo and answers.
  mutating func rememberedLength(
    _ ask: Ask, keyLength: Int, _ delegates: [DelegateRegistration], _ standing: [Outcome]
  ) -> Int {
    // A query ends at once if it has no delegates, or if a hold or a missing required delegate decides it.
    guard !delegates.isEmpty, standing.isEmpty || ask.waitsForAll else { return 0 }
    var length = Self.underWayOverhead + keyLength + ask.overrideReason.utf8.count
    for delegate in delegates { length += delegate.rememberedLength }
    for outcome in standing { length += outcome.delegate.rememberedLength + outcome.reason.utf8.count }
    return length
  }

  /// The bytes charged for an awaited post, without the answers. `keyLength` is 0 if the bus does not keep
  /// the name and the object of the post.
  mutating func rememberedLength(
    keyLength: Int, of waiting: Set<ConnectionSlot>, missing: [MissingObserver] = []
  ) -> Int {
    guard !waiting.isEmpty else { return 0 }
    var length = Self.underWayOverhead + keyLength
    for slot in waiting { length += rememberedLength(ofObserver: slot) }
    for one in missing { length += Self.participantOverhead + one.peer.textLength }
    return length
  }

  func rememberedLength(ofObserver slot: ConnectionSlot) -> Int {
    Self.participantOverhead + connections[slot].peer.textLength
  }

  /// Throws if the bytes do not fit in the user's share of the log. Ignores exempt bytes (`exemptLength`).
  /// Also ignores answers, because these come from other users.
  mutating func requireCapacity(toRemember length: Int, from slot: ConnectionSlot) throws(WireError) {
    guard length > 0 else { return }
    let account = connections[slot].account
    try accounts.require(
      length, of: .log, for: account,
      leavingOut: account.charges.answerByteCount + account.charges.exemptByteCount)
  }

  /// A query *keeps* its userInfo if the bus cannot send all its questions at once. Returns `length` if the
  /// kept bytes are exempt from the user's share of the log, else 0. They are exempt if the user has no other
  /// query with kept userInfo, and the log has enough capacity for `length` and `other`.
  @inline(__always) func exemptLength(
    ofKept length: Int, beside other: Int, from slot: ConnectionSlot
  ) -> Int {
    length > 0 && connections[slot].account.charges.keepingCount == 0
      && accounts.leavesEnough(other + length, of: .log) ? length : 0
  }

  /// - Parameter kept: the bytes of kept userInfo, in addition to `length`.
  mutating func beginRemembering(
    _ length: Int, kept: Int = 0, exempt: Int = 0, of slot: ConnectionSlot
  ) {
    accounts.charge(length + kept, of: .log, to: connections[slot].account)
    guard kept > 0 else { return }
    connections[slot].questionByteCount += kept
    connections[slot].account.charges.keepingCount += 1
    connections[slot].account.charges.exemptByteCount += exempt
  }

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

  /// Charges an answer to the asker or poster. Returns false if the answer does not fit. If the user is
  /// charged for no other answers, and the log has enough capacity, the answer can exceed the share.
  mutating func chargeAnswer(_ length: Int, to slot: ConnectionSlot) -> Bool {
    let account = connections[slot].account
    guard connections[slot].answerByteCount + length <= limits.answersMax,
      // If the user has too many unread bytes, the connection would probably not read the verdict or reply.
      !accounts.isOverShare(of: .queues, account),
      account.charges.answerByteCount == 0 && accounts.leavesEnough(length, of: .log)
        || account.uses[.log] + length <= accounts.share(of: .log, for: account)
    else { return false }
    countAnswers(length, to: slot)
    return true
  }

  mutating func countAnswers(_ length: Int, to slot: ConnectionSlot) {
    connections[slot].answerByteCount += length
    connections[slot].account.charges.answerByteCount += length
    accounts.charge(length, of: .log, to: connections[slot].account)
  }

  // MARK: Retained notifications

  /// Charges a retained notification to its user, as if the charge of the replaced one were already released.
  /// Throws if the new notification does not fit in the user's share.
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
  var rememberedLength: Int { Bus.participantOverhead + label.utf8.count + peer.textLength }
}

// MARK: Listing

extension Bus {
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

// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Charges to the accounts of the users whose clients are connected.
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
    account.charges.registeredByteCount -= connections[slot].registeredLengths.values.reduce(0, +)
    account.charges.connectionCount -= 1
    let charges = account.charges
    precondition(
      charges.connectionCount > 0 || charges.byteCount == 0,
      "user \(account.uid) has no connection, but \(charges.byteCount) bytes are charged")
  }

  // MARK: Registrations

  /// Handles a frame that registers something, if its user's account has capacity for it.
  mutating func register(_ frame: FrameView, from slot: ConnectionSlot, at now: Instant) throws(WireError) {
    let account = connections[slot].account
    let length = frame.header.frameLength + Self.registrationOverhead
    guard account.charges.ownByteCount + length <= limits.rememberedUserMax else {
      throw WireError(.limitExceeded, "cannot register this: \(accountLimit(from: slot))")
    }
    let serial = frame.header.serial
    switch frame.header.kind {
    case .observe: try observe(frame, from: slot, at: now)
    case .monitor: try monitor(frame, from: slot)
    case .attach: try attach(frame, from: slot, at: now)
    case .hold: try hold(frame, from: slot, at: now)
    case .declare: try declare(frame, from: slot)
    default: preconditionFailure("a frame of kind \(frame.header.rawKind) does not register anything")
    }
    // A delegate with the dedup key of an attached one is not a new registration.
    guard connections[slot].hasRegistered(serial) else { return }
    connections[slot].registeredLengths[serial] = length
    account.charges.registeredByteCount += length
  }

  /// Charges `length` more bytes for a registration, besides its frame.
  package mutating func charge(_ length: Int, toRegistration serial: Serial, of slot: ConnectionSlot) {
    connections[slot].registeredLengths.change(serial) { $0 = ($0 ?? 0) + length }
    connections[slot].account.charges.registeredByteCount += length
  }

  /// Releases the bytes charged for a registration.
  mutating func releaseCharge(of serial: Serial, from slot: ConnectionSlot) {
    guard let length = connections[slot].registeredLengths[serial] else { return }
    connections[slot].registeredLengths[serial] = nil
    connections[slot].account.charges.registeredByteCount -= length
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
    keyLength: Int, of waiting: Set<ConnectionSlot>, missing: [Awaited.Missing] = []
  ) -> Int {
    guard !waiting.isEmpty else { return 0 }
    var length = Self.underWayOverhead + keyLength
    for slot in waiting { length += Self.participantOverhead + connections[slot].peer.textLength }
    for one in missing { length += Self.participantOverhead + one.peer.textLength }
    return length
  }

  /// - Throws: `limitExceeded` if the account of the connection's user has no capacity for `length` more bytes.
  mutating func requireCapacity(toRemember length: Int, of request: String, from slot: ConnectionSlot)
    throws(WireError)
  {
    guard length > 0, connections[slot].account.charges.ownByteCount + length > limits.rememberedUserMax
    else { return }
    throw WireError(.limitExceeded, "cannot accept this \(request): \(accountLimit(from: slot))")
  }

  /// Bytes charged for userInfo that a query keeps: 0 if no other query of the user keeps any, so that one always fits.
  @inline(__always) func countedLength(ofKept length: Int, from slot: ConnectionSlot) -> Int {
    length > 0 && connections[slot].account.charges.keepingCount > 0 ? length : 0
  }

  /// Charges for a query or an awaited post that begins.
  ///
  /// - Parameters:
  ///   - length: bytes to charge.
  ///   - kept: bytes of its userInfo that are kept.
  mutating func beginRemembering(_ length: Int, kept: Int = 0, of slot: ConnectionSlot) {
    connections[slot].account.charges.underWayByteCount += length
    guard kept > 0 else { return }
    connections[slot].questionByteCount += kept
    connections[slot].account.charges.keepingCount += 1
  }

  /// Releases what `beginRemembering` charged.
  ///
  /// - Parameter answers: bytes charged for its answers.
  mutating func endRemembering(_ length: Int, kept: Int = 0, answers: Int, of slot: ConnectionSlot) {
    connections[slot].account.charges.underWayByteCount -= length
    if answers > 0 { countAnswers(-answers, to: slot) }
    guard kept > 0 else { return }
    connections[slot].questionByteCount -= kept
    connections[slot].account.charges.keepingCount -= 1
  }

  /// - Parameter length: bytes of an answer to an asker, or to a poster that waits.
  /// - Returns: whether there is capacity for them; if so, they are charged. An account in which no other answers are
  ///   charged always has capacity for one.
  mutating func chargeAnswer(_ length: Int, to slot: ConnectionSlot) -> Bool {
    let charges = connections[slot].account.charges
    guard connections[slot].answerByteCount + length <= limits.answersMax,
      charges.answerByteCount == 0 || charges.byteCount + length <= limits.rememberedUserMax
    else { return false }
    countAnswers(length, to: slot)
    return true
  }

  /// - Parameter length: bytes to charge; negative to release them.
  mutating func countAnswers(_ length: Int, to slot: ConnectionSlot) {
    connections[slot].answerByteCount += length
    connections[slot].account.charges.answerByteCount += length
  }

  private func accountLimit(from slot: ConnectionSlot) -> String {
    "the limit of \(limits.rememberedUserMax) bytes for user \(connections[slot].peer.uid) is reached "
      + "(a quarter of LogMax=)"
  }
}

extension PeerIdentity {
  var textLength: Int { process.utf8.count + units.text.utf8.count }
}

extension DelegateIdentity {
  /// Bytes charged for a delegate in a query that it takes part in, or for a hold that stands against a query.
  var rememberedLength: Int { Bus.participantOverhead + label.utf8.count + peer.textLength }
}

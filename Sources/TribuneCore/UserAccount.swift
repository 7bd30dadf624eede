// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What the clients of one user have the bus keep for them, that it has to remember over a restart as well.
final class UserAccount {
  struct Sums {
    /// Of the frames of what they have registered.
    fileprivate(set) var registeredByteCount = 0
    /// Of their queries and awaited posts under way: whom they wait for, and the userInfo that is kept.
    fileprivate var underWayByteCount = 0
    /// Of what those were told by whom they wait for.
    fileprivate var answerByteCount = 0
    /// Queries that keep their userInfo. That of the first of them is not counted.
    fileprivate var keepingCount = 0
    /// Those that have the account.
    fileprivate var connectionCount = 0

    /// Of what the user has asked for itself. What others say to it keeps it from nothing.
    var ownByteCount: Int { registeredByteCount + underWayByteCount }
    var byteCount: Int { ownByteCount + answerByteCount }
  }

  /// Every query changes them (see `Cell`).
  let sums = Cell(Sums())
}

extension Bus {
  /// Bytes that count for what is around the frame of a registration.
  private static let registrationOverhead = 64
  /// Bytes that count for a query or an awaited post beside what is in it.
  private static let underWayOverhead = 192
  /// Bytes that count for each that takes part in one, or stands against it, beside what it says and what names it: with
  /// what the bus itself says of it.
  static let participantOverhead = 128

  mutating func openAccount(of uid: UInt32, at slot: ConnectionSlot) {
    let account = accounts[uid] ?? UserAccount()
    accounts[uid] = account
    account.sums.value.connectionCount += 1
    accountsBySlot[slot.index] = account
  }

  @inline(__always) private func account(at slot: ConnectionSlot) -> UserAccount {
    guard let account = accountsBySlot[slot.index] else { preconditionFailure("\(slot) is free") }
    return account
  }

  /// Gives back what a connection still has registered, which is about to go. Its queries are over.
  mutating func closeAccount(of connection: Connection, at slot: ConnectionSlot) {
    let account = account(at: slot)
    accountsBySlot[slot.index] = nil
    account.sums.value.registeredByteCount -= connection.registeredLengths.reduce(0) { $0 + $1.value }
    account.sums.value.connectionCount -= 1
    let sums = account.sums.value
    guard sums.connectionCount == 0 else { return }
    precondition(sums.byteCount == 0, "user \(connection.peer.uid) has something left, and no connection")
    accounts[connection.peer.uid] = nil
  }

  // MARK: Registrations

  /// Takes a frame that registers something, if its user has room for that.
  mutating func register(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let account = account(at: slot)
    let length = frame.header.frameLength + Self.registrationOverhead
    guard account.sums.value.ownByteCount + length <= limits.rememberedUserMax else {
      throw WireError(.limitExceeded, "there is no room to register this: \(accountLimit(from: slot))")
    }
    let serial = frame.header.serial
    switch frame.header.kind {
    case .observe: try observe(frame, from: slot, at: now)
    case .monitor: try monitor(frame, from: slot)
    case .attach: try attach(frame, from: slot, at: now)
    case .hold: try hold(frame, from: slot, at: now)
    case .declare: try declare(frame, from: slot)
    default: preconditionFailure("a frame of kind \(frame.header.rawKind) registers nothing")
    }
    // Who attaches the same thing again has nothing new.
    guard connections[slot.index]?.hasRegistered(serial) == true else { return }
    connections[slot.index]?.registeredLengths[serial] = length
    account.sums.value.registeredByteCount += length
  }

  /// What is registered under that serial has so much to be remembered beside its frame.
  package mutating func count(_ length: Int, besides serial: Serial, of slot: ConnectionSlot) {
    connections[slot.index]?.registeredLengths[serial, default: 0] += length
    account(at: slot).sums.value.registeredByteCount += length
  }

  /// What was registered under that serial is so no more.
  mutating func giveBack(_ serial: Serial, from slot: ConnectionSlot) {
    guard let length = connections[slot.index]?.registeredLengths.removeValue(forKey: serial) else { return }
    account(at: slot).sums.value.registeredByteCount -= length
  }

  // MARK: Queries and awaited posts under way

  /// Bytes that a query has to be remembered with while it is under way, but for its userInfo and what it is told.
  ///
  /// - Parameter keyLength: of its name and object.
  func rememberedLength(
    _ ask: Ask, keyLength: Int, _ delegates: [DelegateRegistration], _ standing: [Outcome]
  ) -> Int {
    // It is over as soon as it is asked.
    guard !delegates.isEmpty, standing.isEmpty || ask.mode == .all || ask.flags.contains(.overrides) else {
      return 0
    }
    var length = Self.underWayOverhead + keyLength + ask.overrideReason.utf8.count
    for delegate in delegates { length += delegate.rememberedLength }
    for outcome in standing { length += outcome.delegate.rememberedLength + outcome.reason.utf8.count }
    return length
  }

  /// Bytes that an awaited post has to be remembered with while it is under way, but for what it is told.
  ///
  /// - Parameter keyLength: of its name and object, if they are kept.
  func rememberedLength(
    keyLength: Int, of waiting: Set<ConnectionSlot>, missing: [Awaited.Missing] = []
  ) -> Int {
    guard !waiting.isEmpty else { return 0 }
    var length = Self.underWayOverhead + keyLength
    for slot in waiting { length += Self.participantOverhead + connection(at: slot).peer.textLength }
    for one in missing { length += Self.participantOverhead + one.peer.textLength }
    return length
  }

  /// - Throws: `limitExceeded`, unless the user of the connection has room for that in what is remembered.
  func requireRoom(toRemember length: Int, of what: String, from slot: ConnectionSlot) throws(WireError) {
    guard length > 0, account(at: slot).sums.value.ownByteCount + length > limits.rememberedUserMax else {
      return
    }
    throw WireError(.limitExceeded, "there is no room to remember this \(what): \(accountLimit(from: slot))")
  }

  /// Bytes that count for userInfo that is kept for a query. There is always room for that of one.
  @inline(__always) func countedLength(ofKept length: Int, from slot: ConnectionSlot) -> Int {
    length > 0 && account(at: slot).sums.value.keepingCount > 0 ? length : 0
  }

  /// A query or an awaited post is under way from now on.
  ///
  /// - Parameters:
  ///   - length: bytes of it that are counted.
  ///   - kept: bytes of its userInfo.
  mutating func beginRemembering(_ length: Int, kept: Int = 0, of slot: ConnectionSlot) {
    account(at: slot).sums.value.underWayByteCount += length
    guard kept > 0 else { return }
    connections[slot.index]?.questionByteCount += kept
    account(at: slot).sums.value.keepingCount += 1
  }

  /// It is over.
  ///
  /// - Parameter answers: bytes that it was told, as they were counted.
  mutating func endRemembering(_ length: Int, kept: Int = 0, answers: Int, of slot: ConnectionSlot) {
    account(at: slot).sums.value.underWayByteCount -= length
    if answers > 0 { countAnswers(-answers, to: slot) }
    guard kept > 0 else { return }
    connections[slot.index]?.questionByteCount -= kept
    account(at: slot).sums.value.keepingCount -= 1
  }

  /// - Parameter length: bytes that an asker, or a poster who waits, is told by one that it waits for.
  /// - Returns: whether there is room for them; they are counted then. In the account there always is for an answer if
  ///   nothing of others is counted there.
  mutating func takeRoom(forAnswer length: Int, to slot: ConnectionSlot) -> Bool {
    let sums = account(at: slot).sums.value
    guard connection(at: slot).answerByteCount + length <= limits.answersMax,
      sums.answerByteCount == 0 || sums.byteCount + length <= limits.rememberedUserMax
    else { return false }
    countAnswers(length, to: slot)
    return true
  }

  /// - Parameter length: bytes that it has been told, or that it is to be no more if it is negative.
  mutating func countAnswers(_ length: Int, to slot: ConnectionSlot) {
    connections[slot.index]?.answerByteCount += length
    account(at: slot).sums.value.answerByteCount += length
  }

  private func accountLimit(from slot: ConnectionSlot) -> String {
    "what the bus remembers for user \(connection(at: slot).peer.uid) can have \(limits.rememberedUserMax) bytes"
  }
}

extension PeerIdentity {
  /// Bytes of what it is called.
  var textLength: Int { process.utf8.count + unit.utf8.count }
}

extension DelegateIdentity {
  /// Bytes that count for it in a query that it takes part in, or stands against.
  var rememberedLength: Int { Bus.participantOverhead + label.utf8.count + peer.textLength }
}

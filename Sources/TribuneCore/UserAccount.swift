// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What the clients of one user have the bus keep for them, that it has to remember over a restart as well.
final class UserAccount {
  /// Of the frames of what they have registered.
  fileprivate(set) var registeredByteCount = 0
  /// Of the userInfo that is kept for their queries under way.
  fileprivate(set) var questionByteCount = 0
  /// Those that have it.
  fileprivate var connectionCount = 0

  var byteCount: Int { registeredByteCount + questionByteCount }
}

extension Bus {
  /// Bytes that count for what is around the frame of a registration.
  private static let registrationOverhead = 64

  mutating func openAccount(of uid: UInt32) -> UserAccount {
    let account = accounts[uid] ?? UserAccount()
    accounts[uid] = account
    account.connectionCount += 1
    return account
  }

  /// Gives back what a connection still has registered, which is about to go. Its queries are over.
  mutating func closeAccount(of connection: Connection) {
    let account = connection.account
    account.registeredByteCount -= connection.registeredLengths.reduce(0) { $0 + $1.value }
    account.connectionCount -= 1
    guard account.connectionCount == 0 else { return }
    precondition(account.byteCount == 0, "user \(connection.peer.uid) has something left, and no connection")
    accounts[connection.peer.uid] = nil
  }

  // MARK: Registrations

  /// Takes a frame that registers something, if its user has room for that.
  mutating func register(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    guard let account = connections[slot.index]?.account else { preconditionFailure("\(slot) is free") }
    let length = frame.header.frameLength + Self.registrationOverhead
    guard account.byteCount + length <= limits.rememberedUserMax else {
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
    account.registeredByteCount += length
  }

  /// What is registered under that serial has so much to be remembered beside its frame.
  package mutating func count(_ length: Int, besides serial: Serial, of slot: ConnectionSlot) {
    connections[slot.index]?.registeredLengths[serial, default: 0] += length
    connections[slot.index]?.account.registeredByteCount += length
  }

  /// What was registered under that serial is so no more.
  mutating func giveBack(_ serial: Serial, from slot: ConnectionSlot) {
    guard let length = connections[slot.index]?.registeredLengths.removeValue(forKey: serial) else { return }
    connections[slot.index]?.account.registeredByteCount -= length
  }

  // MARK: Questions

  /// - Throws: `limitExceeded`, unless nothing is kept for another query of the user.
  func requireRoom(toKeep length: Int, from slot: ConnectionSlot) throws(WireError) {
    guard length > 0, let account = connections[slot.index]?.account, account.questionByteCount > 0,
      account.byteCount + length > limits.rememberedUserMax
    else { return }
    throw WireError(
      .limitExceeded, "there is no room to keep the userInfo of this query: \(accountLimit(from: slot))")
  }

  /// - Parameter length: bytes of userInfo that are kept from now on, or are no more if it is negative.
  mutating func keep(_ length: Int, from slot: ConnectionSlot) {
    guard length != 0 else { return }
    connections[slot.index]?.questionByteCount += length
    connections[slot.index]?.account.questionByteCount += length
  }

  private func accountLimit(from slot: ConnectionSlot) -> String {
    "what the bus remembers for user \(connection(at: slot).peer.uid) can have \(limits.rememberedUserMax) bytes"
  }
}

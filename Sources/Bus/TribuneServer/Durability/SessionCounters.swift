// SPDX-License-Identifier: Apache-2.0

package import TribuneLog
package import TribuneWire

/// The counters of a connection's slot in the log.
nonisolated package enum SessionCounter: Int, Sendable {
  /// `SessionFlags`.
  case flags = 0
  /// Notifications that were queued for the connection.
  case queued = 1
  /// Notifications that were sent to it.
  case sent = 2
  /// Control frames that were sent to it.
  case controlSent = 3
  /// Notifications that are buffered while it is suspended.
  case buffered = 4
  /// Notifications that were reported to it as lost.
  case lost = 5
}

nonisolated package struct SessionFlags: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A read is under way, or a frame was read in part.
  package static let receiving = SessionFlags(rawValue: 1)
  /// A write is under way, or a frame was written in part.
  package static let sending = SessionFlags(rawValue: 2)
  /// A control frame is queued that must not be lost and is not in the log.
  package static let unlogged = SessionFlags(rawValue: 4)
  /// A registration is not in the log, for lack of space.
  package static let incomplete = SessionFlags(rawValue: 8)
  /// The socket is shut down, and the client has time to make a new connection.
  package static let detached = SessionFlags(rawValue: 16)
  /// The client has sent its last frame. The log may not have that any more: its hold can have ended.
  package static let hasLast = SessionFlags(rawValue: 32)
  /// The client was sent files that it may not have received.
  package static let hasUnreadFiles = SessionFlags(rawValue: 64)
  /// A call of a client that speaks Varlink is under way.
  package static let inCall = SessionFlags(rawValue: 128)
}

/// The counters of one connection in the log.
nonisolated package struct SessionCounters: Equatable, Sendable {
  package var connection: ConnectionID
  package var flags: SessionFlags = []
  package var queued: UInt32 = 0
  package var sent: UInt32 = 0
  package var controlSent: UInt32 = 0
  package var buffered: UInt32 = 0
  /// Nil if it is damaged: no decision depends on it, only a figure.
  package var lost: UInt32? = 0
}

extension SessionCounters {
  /// Nil if a counter on which a decision depends is damaged.
  fileprivate nonisolated init?(_ slot: CounterSlot) {
    func value(_ counter: SessionCounter) -> UInt32? { slot[counter.rawValue] }
    guard let flags = value(.flags), let queued = value(.queued), let sent = value(.sent),
      let controlSent = value(.controlSent), let buffered = value(.buffered)
    else { return nil }
    self.init(
      connection: ConnectionID(rawValue: slot.owner), flags: SessionFlags(rawValue: flags), queued: queued,
      sent: sent, controlSent: controlSent, buffered: buffered, lost: value(.lost))
  }
}

extension WriteAheadLog {
  nonisolated package func assignSlot(_ slot: Int, to connection: ConnectionID, flags: SessionFlags = []) {
    assignSlot(slot, to: connection.rawValue, firstCounter: flags.rawValue)
  }

  @inline(__always)
  nonisolated package func set(_ counter: SessionCounter, of slot: Int, to value: UInt32) {
    setCounter(counter.rawValue, of: slot, to: value)
  }

  /// The counters of a slot; nil if it belongs to no connection, or is damaged.
  nonisolated package func counters(of slot: Int) -> SessionCounters? {
    self.slot(slot).flatMap { SessionCounters($0) }
  }

  /// Visits the slots that belong to a connection and are not damaged.
  nonisolated package func forEachSession(_ body: (SessionCounters) -> Void) {
    forEachSlot { _, slot in
      if let counters = SessionCounters(slot) { body(counters) }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

package import TribuneLog
package import TribuneWire

/// The counters in a connection's counter slot. The log has these slots beside its entries.
nonisolated package enum SessionCounter: Int, Sendable {
  case flags = 0
  case queued = 1
  case sent = 2
  case controlSent = 3
  case buffered = 4
  case lost = 5
}

nonisolated package struct SessionFlags: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A read is in progress, or a frame was partly read.
  package static let receiving = SessionFlags(rawValue: 1)
  /// A write is in progress, or a frame was partly sent.
  package static let sending = SessionFlags(rawValue: 2)
  /// A control frame is queued that is not among the log's entries, and must not be lost.
  package static let unlogged = SessionFlags(rawValue: 4)
  /// A registration is not among the log's entries, for lack of space.
  package static let incomplete = SessionFlags(rawValue: 8)
  package static let detached = SessionFlags(rawValue: 16)
  /// The client has sent its last frame, a hold or `begin` with `isLast`. The log's entries alone do not tell
  /// this, because a compaction can have dropped the frame.
  package static let hasLast = SessionFlags(rawValue: 32)
  package static let hasUnreadFiles = SessionFlags(rawValue: 64)
  package static let inCall = SessionFlags(rawValue: 128)
  /// The client has sent a limit (`room`). The limit itself is not among the log's entries.
  package static let limited = SessionFlags(rawValue: 256)

  /// In milliseconds: the longest pause, as stated in the client's last `pace` frame. `.max` means forever.
  package var pace: UInt16 { UInt16(rawValue >> 16) }

  package func with(pace: UInt16) -> SessionFlags {
    SessionFlags(rawValue: rawValue & 0xFFFF | UInt32(pace) << 16)
  }
}

nonisolated package struct SessionCounters: Equatable, Sendable {
  package var connection: ConnectionID
  package var flags: SessionFlags = []
  package var queued: UInt32 = 0
  package var sent: UInt32 = 0
  package var controlSent: UInt32 = 0
  package var buffered: UInt32 = 0
  /// Nil if the counter is damaged. The slot is still used, because no decision depends on this counter.
  package var lost: UInt32? = 0
}

extension SessionCounters {
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

  nonisolated package func counters(of slot: Int) -> SessionCounters? {
    self.slot(slot).flatMap { SessionCounters($0) }
  }

  nonisolated package func forEachSession(_ body: (SessionCounters) -> Void) {
    forEachSlot { _, slot in
      if let counters = SessionCounters(slot) { body(counters) }
    }
  }
}

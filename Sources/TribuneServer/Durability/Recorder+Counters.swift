// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// What the recorder counts for each connection in its counter slot: each change is one store.
extension Recorder {
  /// `count` notifications were queued.
  @inline(__always) func noteQueued(
    _ count: Int, at slot: ConnectionSlot, _ traffic: inout Connection.Traffic
  ) {
    traffic.queuedCount &+= UInt32(truncatingIfNeeded: count)
    guard survivesDeath else { return }
    wal.set(.queued, of: slot.index, to: traffic.queuedCount)
  }

  /// - Parameter wereBuffered: they are counted in the slot already, and go on being counted where they are, since no two
  ///   counters change at once.
  func noteQueued(_ count: Int, for connection: Connection, wereBuffered: Bool = false) {
    guard !wereBuffered else {
      connection.traffic.value.bufferedBefore &+= UInt32(truncatingIfNeeded: count)
      return
    }
    noteQueued(count, at: connection.slot, &connection.traffic.value)
  }

  /// Counts what is buffered while the connection is suspended.
  func noteBuffered(for connection: Connection) {
    wal.set(.buffered, of: connection.slot.index, to: bufferedCount(of: connection))
  }

  /// Includes those that are not buffered any more, but reported as lost.
  func bufferedCount(of connection: Connection) -> UInt32 {
    connection.traffic.value.bufferedBefore
      &+ UInt32(truncatingIfNeeded: bus.value.heldCount(of: connection.slot))
  }

  /// What was buffered is counted before its poster is done with: nobody else knows of it.
  func noteBufferedOfAll() {
    while let slot = bus.value.popHeld() {
      if let connection = sessions[slot] { noteBuffered(for: connection) }
    }
  }

  // MARK: Writes under way

  @inline(__always) func noteSending(to connection: Connection) {
    if survivesDeath { setFlag(.sending, of: connection) }
  }

  /// The kernel has taken some of what waited.
  @inline(__always) func noteSent(to connection: Connection) {
    if survivesDeath { writeSent(to: connection) }
  }

  private func writeSent(to connection: Connection) {
    let slot = connection.slot.index
    let unsent = UInt32(truncatingIfNeeded: connection.queue.unsentNotificationCount)
    let unsentOthers = UInt32(truncatingIfNeeded: connection.queue.unsentOtherCount)
    let bufferedBefore = connection.traffic.value.bufferedBefore
    wal.set(.sent, of: slot, to: connection.traffic.value.queuedCount &+ bufferedBefore &- unsent)
    wal.set(.controlSent, of: slot, to: connection.traffic.value.controlCount &- unsentOthers)
    if connection.queue.lostCount > 0 {
      let told = connection.queue.lostCount - connection.queue.untoldLostCount
      wal.set(.lost, of: slot, to: UInt32(clamping: told))
    }
    var flags = connection.traffic.value.sessionFlags
    if !connection.queue.isMidFrame { flags.remove(.sending) }
    if unsentOthers == 0 { flags.remove(.unlogged) }
    setFlags(flags, of: connection)
  }

  /// Frames of the bus's own are queued that an earlier daemon had queued, and that are not in the log.
  func noteRestoredFrames(of connection: Connection) {
    let count = UInt32(truncatingIfNeeded: connection.queue.unsentOtherCount)
    guard survivesDeath, count > 0 else { return }
    connection.traffic.value.controlCount &+= count
    setFlag(.unlogged, of: connection)
  }

  /// What was under way is this daemon's own, and so are the counter slots.
  func noteRecovered(_ connection: Connection) {
    guard survivesDeath else { return }
    noteSent(to: connection)
    noteMidFrame(of: connection)
    if connection.isWriteClosed { setFlag(.sending, of: connection) }
    noteReceived(from: connection)
  }

  /// Completes a counter slot for the daemon that goes on with the connection.
  func noteHandedOver(_ connection: Connection) {
    wal.set(.queued, of: connection.slot.index, to: connection.traffic.value.queuedCount)
    noteBuffered(for: connection)
    noteMidFrame(of: connection)
  }

  private func noteMidFrame(of connection: Connection) {
    if connection.queue.isMidFrame {
      setFlag(.sending, of: connection)
    } else {
      removeFlag(.sending, of: connection)
    }
  }

  // MARK: Flags

  func setFlag(_ flag: SessionFlags, of connection: Connection) {
    setFlags(connection.traffic.value.sessionFlags.union(flag), of: connection)
  }

  func removeFlag(_ flag: SessionFlags, of connection: Connection) {
    setFlags(connection.traffic.value.sessionFlags.subtracting(flag), of: connection)
  }

  private func setFlags(_ flags: SessionFlags, of connection: Connection) {
    guard flags != connection.traffic.value.sessionFlags else { return }
    connection.traffic.value.sessionFlags = flags
    wal.set(.flags, of: connection.slot.index, to: flags.rawValue)
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// The counter slots of connections. Each change is one store.
extension Recorder {
  @inline(__always) func noteQueued(_ count: Int, at slot: ConnectionSlot, _ output: inout Output) {
    output.queuedCount &+= UInt32(truncatingIfNeeded: count)
    guard survivesDeath else { return }
    wal.set(.queued, of: slot.index, to: output.queuedCount)
  }

  /// - Parameter wereBuffered: they stay counted as buffered: two counters cannot change at once.
  func noteQueued(_ count: Int, for session: Session, wereBuffered: Bool = false) {
    guard !wereBuffered else {
      session.output.bufferedBefore &+= UInt32(truncatingIfNeeded: count)
      return
    }
    noteQueued(count, at: session.slot, &session.output)
  }

  func noteMissed(_ count: Int, at slot: ConnectionSlot, wereBuffered: Bool = false) {
    guard let session = sessions.detached(at: slot) else {
      preconditionFailure("slot \(slot.index) has no session")
    }
    if wereBuffered {
      session.bufferedBefore &+= UInt32(truncatingIfNeeded: count)
    } else {
      session.queuedCount &+= UInt32(truncatingIfNeeded: count)
      wal.set(.queued, of: slot.index, to: session.queuedCount)
    }
  }

  func noteBuffered(for slot: ConnectionSlot) {
    guard let before = sessions[slot]?.output.bufferedBefore ?? sessions.detached(at: slot)?.bufferedBefore
    else { return }
    wal.set(.buffered, of: slot.index, to: bufferedCount(of: slot, before: before))
  }

  func bufferedCount(of slot: ConnectionSlot, before: UInt32) -> UInt32 {
    before &+ UInt32(truncatingIfNeeded: bus.value.bufferedCount(of: slot))
  }

  /// Call before the bus has finished with the poster: the log does not record these elsewhere.
  func noteBufferedOfAll() {
    while let slot = bus.value.popBuffered() { noteBuffered(for: slot) }
  }

  // MARK: Writes under way

  @inline(__always) func noteSending(to session: Session) {
    if survivesDeath { setFlag(.sending, of: session) }
  }

  @inline(__always) func noteSent(to session: Session) {
    if survivesDeath { writeSent(to: session) }
  }

  private func writeSent(to session: Session) {
    let slot = session.slot.index
    let unsent = UInt32(truncatingIfNeeded: session.output.queue.unsentNotificationCount)
    let unsentOthers = UInt32(truncatingIfNeeded: session.output.queue.unsentOtherCount)
    let bufferedBefore = session.output.bufferedBefore
    wal.set(.sent, of: slot, to: session.output.queuedCount &+ bufferedBefore &- unsent)
    wal.set(.controlSent, of: slot, to: session.output.controlCount &- unsentOthers)
    noteReported(to: session)
    var flags = session.output.flags
    if !session.output.queue.isMidFrame { flags.remove(.sending) }
    if unsentOthers == 0 { flags.remove(.unlogged) }
    setFlags(flags, of: session)
  }

  private func noteReported(to session: Session) {
    guard session.output.queue.lostCount > 0 else { return }
    let reported = session.output.queue.lostCount - session.output.queue.unreportedLostCount
    wal.set(.lost, of: session.slot.index, to: UInt32(clamping: reported))
  }

  /// An earlier daemon's queued control frames are not in the log.
  func noteRestoredFrames(of session: Session) {
    let count = UInt32(truncatingIfNeeded: session.output.queue.unsentOtherCount)
    guard survivesDeath, count > 0 else { return }
    session.output.controlCount &+= count
    setFlag(.unlogged, of: session)
  }

  func noteRecovered(_ session: Session) {
    guard survivesDeath else { return }
    noteSent(to: session)
    noteMidFrame(of: session)
    if session.output.writing == .closed { setFlag(.sending, of: session) }
    noteReceived(from: session)
  }

  func noteHandedOver(_ session: Session) {
    wal.set(.queued, of: session.slot.index, to: session.output.queuedCount)
    noteBuffered(for: session.slot)
    noteReported(to: session)
    noteMidFrame(of: session)
  }

  func noteHandedOver(_ session: DetachedSession) {
    wal.set(.queued, of: session.slot.index, to: session.queuedCount)
    noteBuffered(for: session.slot)
  }

  private func noteMidFrame(of session: Session) {
    if session.output.queue.isMidFrame {
      setFlag(.sending, of: session)
    } else {
      removeFlag(.sending, of: session)
    }
  }

  // MARK: Flags

  /// - Parameter isSlotKnown: false if the counter slot is damaged.
  func noteDetached(_ session: DetachedSession, isSlotKnown: Bool) {
    if isSlotKnown {
      wal.set(.flags, of: session.slot.index, to: session.flags.rawValue)
    } else {
      wal.assignSlot(session.slot.index, to: session.id, flags: session.flags)
    }
    noteBuffered(for: session.slot)
  }

  func noteSendingLast(to found: FoundConnection) {
    wal.set(.flags, of: found.facts.slot, to: found.flags.union(.sending).rawValue)
  }

  func noteLast(of session: Session) {
    session.input.hasLast = true
    if survivesDeath { setFlag(.hasLast, of: session) }
  }

  func noteSendingFile(to session: Session) {
    if survivesDeath { setFlag(.hasUnreadFiles, of: session) }
  }

  func noteFilesReceived(by session: Session) {
    if survivesDeath { removeFlag(.hasUnreadFiles, of: session) }
  }

  func setFlag(_ flag: SessionFlags, of session: Session) {
    setFlags(session.output.flags.union(flag), of: session)
  }

  func removeFlag(_ flag: SessionFlags, of session: Session) {
    setFlags(session.output.flags.subtracting(flag), of: session)
  }

  private func setFlags(_ flags: SessionFlags, of session: Session) {
    guard flags != session.output.flags else { return }
    session.output.flags = flags
    wal.set(.flags, of: session.slot.index, to: flags.rawValue)
  }
}

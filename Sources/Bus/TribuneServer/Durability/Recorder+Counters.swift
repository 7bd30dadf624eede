// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Writes the counter slots of connections (`SessionCounters`). Each change is a single store to memory.
extension Recorder {
  @inline(__always) func countQueued(_ count: Int, at slot: ConnectionSlot, _ output: inout Output) {
    output.queuedCount &+= UInt32(truncatingIfNeeded: count)
    guard isLogging else { return }
    wal.set(.queued, of: slot.index, to: output.queuedCount)
  }

  /// - Parameter wereBuffered: true if the log already counts the notifications as buffered. The
  ///   notifications stay in that count, because one store cannot change two counters.
  func countQueued(_ count: Int, for session: Session, wereBuffered: Bool = false) {
    guard !wereBuffered else {
      session.output.bufferedBefore &+= UInt32(truncatingIfNeeded: count)
      return
    }
    countQueued(count, at: session.slot, &session.output)
  }

  func countMissed(_ count: Int, at slot: ConnectionSlot, wereBuffered: Bool = false) {
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

  func storeBufferedCount(for slot: ConnectionSlot) {
    guard let before = sessions[slot]?.output.bufferedBefore ?? sessions.detached(at: slot)?.bufferedBefore
    else { return }
    wal.set(.buffered, of: slot.index, to: bufferedCount(of: slot, before: before))
  }

  func bufferedCount(of slot: ConnectionSlot, before: UInt32) -> UInt32 {
    before &+ UInt32(truncatingIfNeeded: bus.value.bufferedCount(of: slot))
  }

  /// Must be called before `markReceived` clears the poster's flag `receiving`. Only the counters record
  /// buffered posts. If the daemon died after clearing the flag, but before storing the counters, these posts
  /// would be lost unnoticed.
  func storeAllBufferedCounts() {
    while let slot = bus.value.popBuffered() { storeBufferedCount(for: slot) }
  }

  // MARK: Writes under way

  @inline(__always) func markSending(to session: Session) {
    if isLogging { setFlag(.sending, of: session) }
  }

  @inline(__always) func storeSent(to session: Session) {
    if isLogging { storeSentCounts(to: session) }
  }

  private func storeSentCounts(to session: Session) {
    let slot = session.slot.index
    let unsent = UInt32(truncatingIfNeeded: session.output.unsentNotificationCount)
    let unsentOthers = UInt32(truncatingIfNeeded: session.output.queue.unsentControlCount)
    let bufferedBefore = session.output.bufferedBefore
    wal.set(.sent, of: slot, to: session.output.queuedCount &+ bufferedBefore &- unsent)
    wal.set(.controlSent, of: slot, to: session.output.controlCount &- unsentOthers)
    storeReportedLoss(to: session)
    var flags = session.output.flags
    if !session.output.queue.isMidFrame { flags.remove(.sending) }
    if unsentOthers == 0 { flags.remove(.unlogged) }
    setFlags(flags, of: session)
  }

  private func storeReportedLoss(to session: Session) {
    let lostCount = session.output.lostCount
    guard lostCount > 0 else { return }
    let reported = lostCount - session.output.unreportedLostCount
    wal.set(.lost, of: session.slot.index, to: UInt32(clamping: reported))
  }

  /// Counts the control frames that an earlier daemon had queued. The log does not contain them.
  func countRestoredFrames(of session: Session) {
    let count = UInt32(truncatingIfNeeded: session.output.queue.unsentControlCount)
    guard isLogging, count > 0 else { return }
    session.output.controlCount &+= count
    setFlag(.unlogged, of: session)
  }

  func storeCounters(ofRecovered session: Session) {
    guard isLogging else { return }
    storeSent(to: session)
    storeMidFrame(of: session)
    if session.output.writing == .closed { setFlag(.sending, of: session) }
    markReceived(from: session)
  }

  func storeCounters(ofHandedOver session: Session) {
    wal.set(.queued, of: session.slot.index, to: session.output.queuedCount)
    storeBufferedCount(for: session.slot)
    storeReportedLoss(to: session)
    storeMidFrame(of: session)
  }

  func storeCounters(ofHandedOver session: DetachedSession) {
    wal.set(.queued, of: session.slot.index, to: session.queuedCount)
    storeBufferedCount(for: session.slot)
  }

  private func storeMidFrame(of session: Session) {
    if session.output.queue.isMidFrame {
      setFlag(.sending, of: session)
    } else {
      removeFlag(.sending, of: session)
    }
  }

  // MARK: Flags

  /// - Parameter isSlotKnown: false if the counter slot is damaged, or has another connection's counters.
  func storeDetached(_ session: DetachedSession, isSlotKnown: Bool) {
    if isSlotKnown {
      wal.set(.flags, of: session.slot.index, to: session.flags.rawValue)
    } else {
      wal.assignSlot(session.slot.index, to: session.id, flags: session.flags)
    }
    storeBufferedCount(for: session.slot)
  }

  func markSendingLast(to found: FoundConnection) {
    wal.set(.flags, of: found.facts.slot, to: found.flags.union(.sending).rawValue)
  }

  func markLast(of session: Session) {
    session.input.hasLast = true
    if isLogging { setFlag(.hasLast, of: session) }
  }

  func markUnreadFiles(of session: Session) {
    if isLogging { setFlag(.hasUnreadFiles, of: session) }
  }

  func clearUnreadFiles(of session: Session) {
    if isLogging { removeFlag(.hasUnreadFiles, of: session) }
  }

  func setFlag(_ flag: SessionFlags, of session: Session) {
    setFlags(session.output.flags.union(flag), of: session)
  }

  func removeFlag(_ flag: SessionFlags, of session: Session) {
    setFlags(session.output.flags.subtracting(flag), of: session)
  }

  func setPace(_ limit: UInt16, of session: Session) {
    setFlags(session.output.flags.with(pace: limit), of: session)
  }

  private func setFlags(_ flags: SessionFlags, of session: Session) {
    guard flags != session.output.flags else { return }
    session.output.flags = flags
    wal.set(.flags, of: session.slot.index, to: flags.rawValue)
  }
}

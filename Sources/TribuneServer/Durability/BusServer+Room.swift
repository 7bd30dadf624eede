// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// What is done where the log of the state has no room.
///
/// Nothing new comes into it then: a delegate, a hold, a declaration or a query is refused, and an observation is forgotten
/// with the daemon. What follows from what was written is always written, be the log longer than `StateMax=` for it: who
/// replays it must not come to decide anything else.
///
/// To sweep it in place keeps everybody waiting: for up to a second where it is long. So that is done where much has been
/// written since the last sweep, which pays for the next one. Else the log is swept as always, a little in each pass.
extension BusServer {
  /// How long nobody looks for room again where a sweep may have found little.
  private static let sweepIntervalNanoseconds: UInt64 = 1_000_000_000

  /// Bytes of records that nearly no event causes more of.
  private static let eventLength = 65_536

  /// Why something new cannot be written down; nil if there is room for it. It is made in place first, if that promises
  /// enough.
  func lackOfRoom(for frame: FrameView) -> WireError? {
    let length = frame.bytes.byteCount + LoggedFrame.headLength
    guard length <= wal.admittedBodyLengthMax else { return Self.isTooLong(frame, wal) }
    if wal.admits(length) { return nil }
    let promised = wal.usedLength - lengthAtLastSweep
    // Where it may be half of all, to sweep takes little longer than to write it did.
    if promised >= wal.admissionLimit / 2 || promised >= wal.admissionLimit / 8 && now >= roomSoughtAgain {
      makeRoomInState()
      if wal.admits(length) { return nil }
    }
    seeksRoom = true
    noteFull(for: length)
    return Self.noRoom
  }

  private static let noRoom = WireError(
    .limitExceeded, "the bus has no room to remember this, should it be restarted (StateMax=)")

  private static func isTooLong(_ frame: FrameView, _ wal: WriteAheadLog) -> WireError {
    WireError(
      .limitExceeded,
      """
      the bus cannot remember \(frame.bytes.byteCount) bytes, should it be restarted: all that it remembers can have \
      \(wal.admissionLimit) (StateMax=)
      """)
  }

  /// - Parameter length: of what has no room. Not before there is some for that is it said that there is any.
  private func noteFull(for length: Int) {
    // Much of the state may never be free again.
    lengthWithoutRoom = max(lengthWithoutRoom, min(length, wal.admissionLimit / 2))
    guard !isStateFull else { return }
    isStateFull = true
    log.warning(
      """
      the state has no room for more (StateMax=): delegates, holds, declarations and queries are refused now, and what is \
      observed now does not survive a restart
      """)
  }

  /// Makes room in the area before it ends, for what is about to be written and what one event causes: in the middle of
  /// an event none can be made. An area ends that early only where the process may not have much memory.
  @inline(__always) func sweepBeforeEnd(of length: Int) {
    if wal.segmentCapacity - wal.usedLength < length + Self.eventLength { makeRoomInState() }
  }

  /// Whether a sweep is to begin.
  func takeReasonToSweep() -> Bool {
    if wal.isCompactionDue, now >= sweptInVainUntil { return true }
    guard seeksRoom, now >= roomSoughtAgain else { return false }
    seeksRoom = false
    return true
  }

  /// A sweep has ended.
  ///
  /// - Parameter isInVain: it has changed nothing, because what is live did not fit.
  func noteSwept(isInVain: Bool) {
    roomSoughtAgain = now.advanced(byNanoseconds: Self.sweepIntervalNanoseconds)
    if isInVain { sweptInVainUntil = roomSoughtAgain }
    lengthAtLastSweep = wal.usedLength
    noteRoom()
  }

  /// The log is shorter, or may be longer, than before.
  func noteRoom() {
    // Not before much of it is free, and as much as had no room, so that the log of the daemon does not say again and
    // again that it is full.
    let free = wal.admissionLimit - wal.usedLength
    guard isStateFull, free >= max(wal.admissionLimit / 4, lengthWithoutRoom) else { return }
    isStateFull = false
    lengthWithoutRoom = 0
    log.notice("the state has room again")
  }
}

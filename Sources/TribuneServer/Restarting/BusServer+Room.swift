// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// What is done where the log of the state has no room.
///
/// To sweep it in place keeps everybody waiting: for up to a second where it is long. So that is done where much has been
/// written since the last sweep, which pays for the next one. Else the log is swept as always, a little in each pass,
/// and until then what has no room is refused, or is not remembered.
extension BusServer {
  /// How long nobody looks for room again where a sweep may have found little.
  private static let sweepIntervalNanoseconds: UInt64 = 1_000_000_000

  /// Bytes of records that nearly no event causes more of.
  private static let eventLength = 65_536

  /// Makes room for what an event causes, beside something of that length: in the middle of it, none can be made. It is
  /// made in place, if that promises enough of it.
  func requireRoomInState(for length: Int = 0) {
    guard state.lengthMax - state.usedLength < length + Self.eventLength else { return }
    let promised = state.usedLength - lengthAtLastSweep
    // Where it may be half of all, to sweep takes little longer than to write it did.
    guard promised >= state.lengthMax / 2 || promised >= state.lengthMax / 8 && now >= roomSoughtAgain else {
      return
    }
    makeRoomInState()
  }

  /// Whether a sweep is to begin.
  func takeReasonToSweep() -> Bool {
    if state.isCrowded, now >= sweptInVainUntil { return true }
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
    lengthAtLastSweep = state.usedLength
    noteRoom()
  }

  /// The log is shorter, or may be longer, than before.
  func noteRoom() {
    // Not before much of it is free, and as much as had no room, so that the log of the daemon does not say again and
    // again that it is full.
    let free = state.lengthMax - state.usedLength
    guard isStateFull, free >= max(state.lengthMax / 4, lengthWithoutRoom) else { return }
    isStateFull = false
    lengthWithoutRoom = 0
    log.notice("the state has room again: what is registered from now on survives a restart")
  }
}

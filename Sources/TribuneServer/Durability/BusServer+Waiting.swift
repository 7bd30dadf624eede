// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// Posts that wait for the bus to be idle, in the state: they were accepted, and nobody is told of them yet. A planned
/// hand-over delivers them first.
extension BusServer {
  func record(waiting slice: ByteSlice, number: UInt64, from poster: ConnectionID, uid: UInt32) {
    postponed.insert(number)
    guard outlivesDeath else { return }
    // The file in which userInfo came is not kept: what waits here is short, or does not wait for long.
    guard let frame = slice.buffer.attachment == nil ? slice : inlined(slice) else { return }
    let buffer = bufferToRecord()
    buffer.append(number)
    buffer.append(uid)
    record(.postponedPost, of: poster, at: now, buffer.bytes, frame.bytes)
  }

  func record(waitsNoMore number: UInt64) {
    postponed.remove(number)
    guard outlivesDeath else { return }
    let buffer = bufferToRecord()
    buffer.append(number)
    record(.postponedPostDone, of: .bus, at: now, buffer.bytes)
  }

  /// Takes a post back that waits, or that it does no more.
  ///
  /// - Throws: what is wrong with it.
  func replayWaiting(_ entry: LogEntry) throws(WireError) {
    var reader = FieldReader(entry.body)
    let number: UInt64 = try reader.integer()
    guard entry.kind == .postponedPost else {
      bus.forgetWaiting(number: number)
      postponed.remove(number)
      return
    }
    let uid: UInt32 = try reader.integer()
    try bus.restoreWaiting(
      entry.body.extracting(droppingFirst: 12), number: number, from: entry.connection, uid: uid,
      at: entry.moment)
    postponed.insert(number)
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Posts that wait for the bus to be idle, in the state: they were accepted, and nobody is told of them yet. A planned
/// hand-over delivers them first.
extension BusServer {
  func record(waiting slice: ByteSlice, number: UInt64, from poster: ConnectionID, uid: UInt32) {
    waitingPosts.insert(number)
    guard outlivesDeath else { return }
    // The file in which userInfo came is not kept: what waits here is short, or does not wait for long.
    guard let frame = slice.buffer.attachment == nil ? slice : inlined(slice) else { return }
    let buffer = bufferToRecord()
    buffer.append(number)
    buffer.append(uid)
    record(.waiting, of: poster, at: now, buffer.bytes, frame.bytes)
  }

  func record(waitsNoMore number: UInt64) {
    waitingPosts.remove(number)
    guard outlivesDeath else { return }
    let buffer = bufferToRecord()
    buffer.append(number)
    record(.waitsNoMore, of: .bus, at: now, buffer.bytes)
  }

  /// Takes a post back that waits, or that it does no more.
  ///
  /// - Throws: what is wrong with it.
  func replayWaiting(_ record: StateRecord) throws(WireError) {
    var reader = FieldReader(record.body)
    let number: UInt64 = try reader.integer()
    guard record.kind == .waiting else {
      bus.forgetWaiting(number: number)
      waitingPosts.remove(number)
      return
    }
    let uid: UInt32 = try reader.integer()
    try bus.restoreWaiting(
      record.body.extracting(droppingFirst: 12), number: number, from: record.connection, uid: uid,
      at: record.moment)
    waitingPosts.insert(number)
  }

  /// Whether the post still waits that a record has.
  func isWaiting(_ record: StateRecord) -> Bool {
    record.body.byteCount >= 8 && waitingPosts.contains(record.body.integer(at: 0, as: UInt64.self))
  }
}

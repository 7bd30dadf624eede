// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Moves frames between two queues of one connection, without copying their bytes.
nonisolated extension OutboundQueue {
  /// Moves the oldest frames to `other`, among them up to `room` notifications. A `lost` frame uses up one
  /// unit of room for each notification that it reports, but moves even if `room` is too small. This queue
  /// must not have a partly sent frame, or a frame in two entries.
  ///
  /// - Returns: the moved control frames (`OutboundQueue`).
  mutating func moveOldest(to other: inout OutboundQueue, within room: inout Int) -> [ByteSlice] {
    var controlFrames: [ByteSlice] = []
    closeEntry()
    while head < entries.count {
      let entry = entries[head]
      if entry.isLost {
        room -= Int(clamping: entry.reportedCount)
        other.append(entry)
        remove(entry)
      } else if !entry.isNotification || Int(entry.frameCount) <= room {
        if entry.isNotification { room -= Int(entry.frameCount) } else { controlFrames.append(entry.slice) }
        other.append(entry)
        remove(entry)
      } else {
        guard room > 0 else { break }
        let (moved, rest) = entry.split(after: room)
        room = 0
        other.append(moved)
        remove(moved)
        entries[head] = rest
        break
      }
      head += 1
    }
    if isEmpty { removeAll() } else { forgetFront() }
    return controlFrames
  }

  /// Subtracts `entry` from the unsent counts.
  private mutating func remove(_ entry: Entry) {
    unsentCount -= entry.slice.count
    attachedCount -= entry.slice.buffer.attachment?.length ?? 0
    if entry.isLost {
      unsentNotificationCount -= entry.reportedCount
      unreportedLostCount -= entry.reportedCount
    } else if entry.isNotification {
      unsentNotificationCount -= UInt64(entry.frameCount)
    } else {
      unsentControlCount -= UInt64(entry.frameCount)
    }
  }

  private mutating func append(_ entry: Entry) {
    guard entry.isLost else {
      return append(entry.slice, isNotification: entry.isNotification, count: Int(entry.frameCount))
    }
    appendReport(of: entry.reportedCount)
  }
}

nonisolated extension OutboundQueue.Entry {
  fileprivate func split(after count: Int) -> (Self, Self) {
    precondition(!isCut, "a waiting notification is whole")
    var end = slice.range.lowerBound
    for _ in 0..<count { end += slice.buffer.frameLength(at: end) }
    var (first, rest) = (self, self)
    first.slice.range = slice.range.lowerBound..<end
    first.frameCount = UInt32(count)
    rest.slice.range = end..<slice.range.upperBound
    rest.frameCount -= UInt32(count)
    return (first, rest)
  }
}

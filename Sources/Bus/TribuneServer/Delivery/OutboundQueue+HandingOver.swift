// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A part of an outbound queue, as a hand-over passes it to the next daemon.
nonisolated struct WaitingFrames {
  enum Kind: UInt8, Sendable, CaseIterable {
    case notifications = 0
    case others = 1
    case lost = 2
  }

  var kind: Kind
  /// The unsent bytes: the rest of a partly sent frame, if any, and then whole frames.
  var slice: ByteSlice
  /// How many bytes of `slice` are the rest of a partly sent frame: 0 except in a queue's first part.
  var partialCount: Int
  /// The number of frames that end in this part. For a `lost` frame, the number of lost notifications.
  var count: UInt64

  init(kind: Kind, slice: ByteSlice, partialCount: Int, count: UInt64) {
    self.kind = kind
    self.slice = slice
    self.partialCount = partialCount
    self.count = count
  }

  /// Nil if `slice` begins with the rest of a frame, because the file was sent with the frame's first byte.
  var attachment: (any AttachedFile)? { partialCount == 0 ? slice.buffer.attachment : nil }
}

nonisolated extension OutboundQueue {
  mutating func forEachWaiting<E: Error>(_ body: (WaitingFrames) throws(E) -> Void) throws(E) {
    completeEntry()
    var index = head
    var partialCount = partialLeft
    while index < entries.count {
      var entry = entries[index]
      let unsentStart = entry.slice.range.lowerBound + (index == head ? headSent : 0)
      entry.slice.range = unsentStart..<entry.slice.range.upperBound
      while entry.isCut, index + 1 < entries.count {
        index += 1
        let (next, joined) = (entries[index], ByteBuffer(capacity: 0))
        joined.reserve(entry.slice.count + next.slice.count)
        joined.append(entry.slice.bytes)
        joined.append(next.slice.bytes)
        entry.slice = ByteSlice(joined, 0..<joined.count)
        entry.frameCount += next.frameCount
        entry.isCut = next.isCut
      }
      let kind: WaitingFrames.Kind = entry.isLost ? .lost : entry.isNotification ? .notifications : .others
      try body(
        WaitingFrames(
          kind: kind, slice: entry.slice, partialCount: partialCount,
          count: entry.isLost ? entries[index].reportedCount : UInt64(entry.frameCount)))
      partialCount = 0
      index += 1
    }
  }

  /// Appends a part. The parts of a queue must be restored in order.
  ///
  /// - Throws: an error if the part is invalid. The queue is then unchanged.
  mutating func restore(_ part: WaitingFrames) throws(WireError) {
    closeEntry()
    let (slice, partialCount) = (part.slice, part.partialCount)
    guard slice.count > 0, partialCount >= 0, partialCount <= slice.count, partialCount == 0 || isEmpty else {
      throw WireError(
        .invalidValue, "\(partialCount) of \(slice.count) queued bytes are not the rest of a frame")
    }
    switch part.kind {
    case .lost: try restoreLost(part)
    case .notifications, .others:
      let count = try slice.bytes.countFrames(from: partialCount) + (partialCount > 0 ? 1 : 0)
      guard UInt64(count) == part.count else {
        throw WireError(.invalidValue, "\(count) frames are queued, not \(part.count)")
      }
      guard part.attachment == nil || count == 1 && slice.count == slice.buffer.count else {
        throw WireError(.invalidValue, "a file is attached to \(count) frames")
      }
      let own = part.attachment == nil ? slice.withoutAttachment : slice
      append(own, isNotification: part.kind == .notifications, count: count)
      if partialCount > 0 { partialLeft = partialCount }
    }
  }

  private mutating func restoreLost(_ part: WaitingFrames) throws(WireError) {
    let buffer = ByteBuffer(capacity: Lost.frameLength)
    buffer.appendFrame(Lost(count: part.count), serial: 0)
    let isWhole = part.partialCount == 0
    guard part.slice.count == (isWhole ? Lost.frameLength : part.partialCount),
      part.slice.count <= Lost.frameLength,
      buffer.bytes.extracting(last: part.slice.count).isEqual(to: part.slice.bytes)
    else { throw WireError(.invalidValue, "a queued frame does not report \(part.count) lost notifications") }
    guard part.count <= BusCounters.most - min(unsentNotificationCount, BusCounters.most) else {
      throw WireError(.invalidValue, "a queue cannot have lost \(part.count) notifications")
    }
    entries.append(Entry(lost: buffer))
    lastLost = entries.count - 1
    unsentCount += part.slice.count
    unsentNotificationCount += part.count
    unreportedLostCount += part.count
    lostCount += part.count
    guard !isWhole else { return }
    headSent = Lost.frameLength - part.partialCount
    partialLeft = part.partialCount
  }
}

nonisolated extension ByteSlice {
  fileprivate var withoutAttachment: ByteSlice {
    guard buffer.attachment != nil else { return self }
    return ByteSlice(ByteBuffer(holding: bytes), 0..<count)
  }
}

nonisolated extension RawSpan {
  fileprivate func countFrames(from start: Int) throws(WireError) -> Int {
    var (position, count) = (start, 0)
    while position < byteCount {
      let left = byteCount - position
      if isHello(at: position) {
        position += Hello.length
      } else {
        guard let header = try FrameHeader(self, at: position, limits: .fromBus), header.frameLength <= left
        else { throw WireError(.malformedFrame, "\(left) queued bytes are not a whole frame") }
        position += header.frameLength
      }
      count += 1
    }
    return count
  }
}

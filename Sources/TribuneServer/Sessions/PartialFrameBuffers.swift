// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Where the starts of short frames are kept until their rest comes.
///
/// Most reads of somebody who posts much end within a frame. A few buffers that have room for any short one, and are
/// used again, save these the three allocations of a new one; where more connections than that have begun a frame,
/// each start has just the room that it needs.
struct PartialFrameBuffers {
  /// Bytes of a frame that is short.
  static let capacity = 16_384
  private static let countMax = 4

  private var free: [ByteBuffer] = []
  private var lentCount = 0

  /// A buffer for the first `count` bytes of a short frame.
  mutating func take(for count: Int) -> ByteBuffer {
    precondition(count < Self.capacity, "a frame of which \(count) bytes have come is not short")
    guard lentCount < Self.countMax else { return ByteBuffer(capacity: count) }
    lentCount += 1
    return free.popLast() ?? ByteBuffer(capacity: Self.capacity)
  }

  /// Takes a buffer back, whose bytes nobody needs any more.
  mutating func give(_ buffer: ByteBuffer) {
    guard buffer.capacity == Self.capacity else { return }
    lentCount -= 1
    buffer.truncate(to: 0)
    free.append(buffer)
  }
}

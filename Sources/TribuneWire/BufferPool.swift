// SPDX-License-Identifier: Apache-2.0

/// Buffers that are used again and again, so that a busy bus does not ask the allocator for them.
///
/// Nobody gives a buffer back: one is free when nobody but the pool holds it.
package final class BufferPool {
  private struct Kept {
    var buffers: [ByteBuffer] = []
    /// The one that was handed out last. Those behind it have had the longest time to become free.
    var last = 0
    /// How often not to look for a free one, since none was when all were looked at.
    var pause = 0
  }

  /// Bytes in each buffer.
  package let bufferCapacity: Int
  /// Buffers that are kept; when all are in use, others are made, and go when they have been used.
  private let keptMax: Int
  private let kept = Cell(Kept())

  /// - Parameters:
  ///   - bufferCapacity: bytes in each buffer.
  ///   - keptMax: buffers that are kept in memory.
  package init(bufferCapacity: Int, keptMax: Int) {
    precondition(bufferCapacity > 0 && keptMax > 0)
    self.bufferCapacity = bufferCapacity
    self.keptMax = keptMax
  }

  /// A buffer in which nothing has been written.
  package func take() -> ByteBuffer { takeIfFree() ?? ByteBuffer(capacity: bufferCapacity) }

  /// One of those that are kept; nil if all are in use.
  package func takeIfFree() -> ByteBuffer? {
    guard kept.value.pause == 0 else {
      kept.value.pause -= 1
      return nil
    }
    let count = kept.value.buffers.count
    for _ in 0..<count {
      let index = kept.value.last + 1 == count ? 0 : kept.value.last + 1
      kept.value.last = index
      guard isKnownUniquelyReferenced(&kept.value.buffers[index]) else { continue }
      // One that had to grow is not kept.
      if kept.value.buffers[index].capacity != bufferCapacity {
        kept.value.buffers[index] = ByteBuffer(capacity: bufferCapacity)
      }
      kept.value.buffers[index].truncate(to: 0)
      return kept.value.buffers[index]
    }
    guard count < keptMax else {
      kept.value.pause = count
      return nil
    }
    let buffer = ByteBuffer(capacity: bufferCapacity)
    kept.value.last = count
    kept.value.buffers.append(buffer)
    return buffer
  }
}

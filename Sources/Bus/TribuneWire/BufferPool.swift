// SPDX-License-Identifier: Apache-2.0

/// Reuses buffers, so that a busy bus does not allocate them.
///
/// Buffers are not returned: a buffer is free when only the pool refers to it.
package final class BufferPool {
  private struct Kept {
    var buffers: [ByteBuffer] = []
    /// The index of the buffer that was handed out last. The buffers after it have had the longest time to become free.
    var last = 0
    /// How many requests skip the search, because the last search found no free buffer.
    var pause = 0
  }

  /// Bytes in each buffer.
  package let bufferCapacity: Int
  /// The most buffers that are kept. If all are in use, temporary ones are made.
  private let keptMax: Int
  private let kept = Cell(Kept())

  /// - Parameters:
  ///   - bufferCapacity: bytes in each buffer.
  ///   - keptMax: the most buffers that are kept.
  package init(bufferCapacity: Int, keptMax: Int) {
    precondition(bufferCapacity > 0 && keptMax > 0)
    self.bufferCapacity = bufferCapacity
    self.keptMax = keptMax
  }

  /// An empty buffer.
  package func take() -> ByteBuffer { takeIfFree() ?? ByteBuffer(capacity: bufferCapacity) }

  /// A kept buffer, emptied; nil if all are in use.
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
      // A buffer that has grown is replaced.
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

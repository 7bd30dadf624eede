// SPDX-License-Identifier: Apache-2.0

/// A pool of reusable buffers. A buffer is free while only the pool refers to it.
package final class BufferPool {
  private struct Kept {
    var buffers: [ByteBuffer] = []
    /// The index of the buffer that the pool handed out last. A search starts behind this index, because
    /// recently handed out buffers are less likely to be free.
    var last = 0
    /// The number of further requests that skip the search. After a search of the full pool without a result,
    /// the next searches would probably find no free buffer, either.
    var pause = 0
  }

  /// The capacity of each buffer, in bytes.
  package let bufferCapacity: Int
  private let keptMax: Int
  private let kept = Cell(Kept())

  package init(bufferCapacity: Int, keptMax: Int) {
    precondition(bufferCapacity > 0 && keptMax > 0)
    self.bufferCapacity = bufferCapacity
    self.keptMax = keptMax
  }

  package func take() -> ByteBuffer { takeIfFree() ?? ByteBuffer(capacity: bufferCapacity) }

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

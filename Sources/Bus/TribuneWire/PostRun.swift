// SPDX-License-Identifier: Apache-2.0

/// Consecutive posts without fields, of one name and object. The bus routes and queues them together.
///
/// All posts of a run have the same kind, flags, name length and object length. These four bytes are adjacent
/// in the header, so one comparison checks all of them.
package struct PostRun {
  package let range: Range<Int>
  package let count: Int

  /// Finds the run that begins with the post at `start`, and writes the sender's id into each post of the
  /// run. The first post's frame must be whole.
  ///
  /// - Parameters:
  ///   - limits: the run ends before a post over these limits. The bus refuses that post afterwards.
  ///   - isAlone: if true, the run has only the first post.
  package init(
    in buffer: ByteBuffer, at start: Int, first: FrameHeader, from sender: ConnectionID, limits: FrameLimits,
    isAlone: Bool
  ) {
    let bytes = buffer.bytes
    let alike = bytes.integer(at: start + FrameHeader.kindOffset, as: UInt32.self)
    let tailStart = first.payloadStart
    let keyStart = start + first.nameStart
    let keyLength = first.nameLength + first.objectLength
    var end = start
    var count = 0
    var length = first.frameLength
    repeat {
      buffer.store(sender.rawValue, at: end + FrameHeader.senderOffset)
      end += length
      count += 1
      guard !isAlone, bytes.byteCount - end >= FrameHeader.length else { break }
      length = Int(bytes.integer(at: end, as: UInt32.self))
    } while length >= tailStart && length - tailStart <= limits.payload && length <= bytes.byteCount - end
      && bytes.integer(at: end + FrameHeader.kindOffset, as: UInt32.self) == alike
      && bytes.integer(at: end + FrameHeader.fieldsLengthOffset, as: UInt32.self) == 0
      && bytes.isEqual(at: end + FrameHeader.length, to: keyStart, count: keyLength)
    range = start..<end
    self.count = count
  }
}

extension RawSpan {
  fileprivate func isEqual(at offset: Int, to other: Int, count: Int) -> Bool {
    guard count >= 8 else {
      for index in 0..<count
      where integer(at: offset + index, as: UInt8.self) != integer(at: other + index, as: UInt8.self) {
        return false
      }
      return true
    }
    // The last 8 bytes can include bytes that the loop has compared.
    var index = 0
    while index < count - 8 {
      if integer(at: offset + index, as: UInt64.self) != integer(at: other + index, as: UInt64.self) {
        return false
      }
      index += 8
    }
    return integer(at: offset + count - 8, as: UInt64.self) == integer(at: other + count - 8, as: UInt64.self)
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Consecutive plain posts of one name and object, routed and queued as one.
///
/// Their kinds, flags, and lengths of name and object are equal. These fields are adjacent, so one comparison checks
/// them.
package struct PostRun {
  package let range: Range<Int>
  package let count: Int

  /// Stamps the post at `start`, whose frame must be whole, and the similar posts after it.
  ///
  /// - Parameters:
  ///   - limits: a post beyond them ends the run; its error is found when it starts the next one.
  ///   - isAlone: the run has only the first post.
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
    // The last eight bytes may be compared twice.
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

// SPDX-License-Identifier: Apache-2.0

/// Plain posts of one name and object that lie behind each other: what a poster that has much to say sends, and
/// what is routed and queued as one.
///
/// All have the same kind, flags and lengths of name and object, so that one comparison of four bytes says as much of
/// the next; its length, its fields and its name are the rest.
package struct PostRun {
  package let range: Range<Int>
  /// Posts in it.
  package let count: Int

  /// Stamps the post at `start`, and those behind it that are alike.
  ///
  /// - Parameters:
  ///   - first: the header at `start`, of a whole frame.
  ///   - sender: who sent them.
  ///   - limits: what of a post is taken. What is wrong with the next is found when it is the first of its run.
  ///   - isAlone: the run ends with the first.
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
  /// Whether the same `count` bytes lie at both offsets.
  fileprivate func isEqual(at offset: Int, to other: Int, count: Int) -> Bool {
    guard count >= 8 else {
      for index in 0..<count
      where integer(at: offset + index, as: UInt8.self) != integer(at: other + index, as: UInt8.self) {
        return false
      }
      return true
    }
    // The last eight may be some of those before.
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

// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A notification that somebody has posted, with all that delivering it takes.
struct PostedNotification {
  /// The frame, stamped.
  var slice: ByteSlice
  let header: FrameHeader
  let fields: Post
  let poster: Poster
  /// The account that it counts in.
  let uid: UInt32
  let posted: Instant
  /// By which it is known while it waits for the bus to be idle; 0 if it does not.
  var number: UInt64 = 0
  /// Bytes that were set aside in that account to retain it.
  var reserved = 0

  /// Name and object, joined as they lie in the frame.
  var key: RawSpan {
    @_lifetime(borrow self)
    get {
      let start = slice.range.lowerBound
      return slice.buffer.bytes(in: start + header.nameStart..<start + header.payloadStart)
    }
  }

  /// Name, object and userInfo.
  var tail: QueryTail {
    let start = slice.range.lowerBound
    return QueryTail(
      slice: ByteSlice(slice.buffer, start + header.nameStart..<slice.range.upperBound),
      nameLength: header.nameLength, objectLength: header.objectLength)
  }
}

/// Which connection posted something. Its slot may have another tenant by the time that it is delivered.
package struct Poster: Equatable, Sendable {
  package let slot: ConnectionSlot
  package let id: ConnectionID
}

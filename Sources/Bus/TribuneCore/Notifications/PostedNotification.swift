// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

struct PostedNotification {
  var slice: ByteSlice
  let header: FrameHeader
  let fields: Post
  let poster: Poster
  let uid: UInt32
  let posted: Instant
  var number: UInt64 = 0
  /// The bytes charged in advance for retaining the notification.
  var reserved = 0

  /// The name and the object, contiguous as in the frame.
  var key: RawSpan {
    @_lifetime(borrow self)
    get {
      let start = slice.range.lowerBound
      return slice.buffer.bytes(in: start + header.nameStart..<start + header.payloadStart)
    }
  }

  var name: String { String(repairing: key.extracting(first: header.nameLength)) }
  var object: String { String(repairing: key.extracting(droppingFirst: header.nameLength)) }

  var tail: QueryTail {
    let start = slice.range.lowerBound
    return QueryTail(
      slice: ByteSlice(slice.buffer, start + header.nameStart..<slice.range.upperBound),
      nameLength: header.nameLength, objectLength: header.objectLength)
  }
}

/// The poster of a notification. At the delivery, another connection can have the slot, but not the id.
package struct Poster: Equatable, Sendable {
  package let slot: ConnectionSlot
  package let id: ConnectionID
  /// If the poster posted to an earlier daemon and has not reconnected, only the user in `peer` is known.
  package let peer: PeerIdentity
}

// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What a call asks for, as the serial of the frames that it becomes.
///
/// Whatever the bus sends because of a frame carries its serial, also after a restart. So replies can be made from the
/// frames alone, and nothing has to be remembered of a call. A connection has one call at a time.
package struct CallID: Equatable, Sendable {
  package enum Method: UInt8, Sendable {
    /// The reply is made already, and is the payload of an `ok`.
    case madeReply = 1
    case tell
    case ask
    case observe
    case delegate
    case hold
    /// The reply is not sent: the frame takes back what belongs to a refused call.
    case takeBack
  }

  package var method: Method
  package var isOneway: Bool
  package var takesMore: Bool
  /// Which of the call's frames this is, and how many there are.
  package var index: UInt8
  package var count: UInt8
  /// When the call was taken: the low bits of the microseconds. Tickets have the serial of a notification, so a late answer
  /// to one does not count for the next one.
  package var moment: UInt32

  /// - Parameter now: in nanoseconds.
  package init(
    _ method: Method, isOneway: Bool = false, takesMore: Bool = false, index: Int = 0, of count: Int = 1,
    at now: UInt64 = 0
  ) {
    self.method = method
    self.isOneway = isOneway
    self.takesMore = takesMore
    self.index = UInt8(index)
    self.count = UInt8(count)
    moment = UInt32(truncatingIfNeeded: now / 1000)
  }

  package var isLast: Bool { Int(index) + 1 == Int(count) }

  package var serial: Serial {
    Serial(method.rawValue) | (isOneway ? 1 << 8 : 0) | (takesMore ? 1 << 9 : 0) | Serial(index) << 16
      | Serial(count) << 24 | Serial(moment) << 32
  }

  /// Nil for a serial that no call has.
  package init?(serial: Serial) {
    guard let method = Method(rawValue: UInt8(truncatingIfNeeded: serial)) else { return nil }
    self.method = method
    isOneway = serial & 1 << 8 != 0
    takesMore = serial & 1 << 9 != 0
    index = UInt8(truncatingIfNeeded: serial >> 16)
    count = UInt8(truncatingIfNeeded: serial >> 24)
    moment = UInt32(truncatingIfNeeded: serial >> 32)
  }
}

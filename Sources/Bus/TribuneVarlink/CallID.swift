// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The identity of a call, as the serial of its frames.
///
/// The bus's frames for a call carry its serial, also after a restart, so replies need no record of the call.
/// A connection has one call at a time.
package struct CallID: Equatable, Sendable {
  package enum Method: UInt8, Sendable {
    /// The reply is already the payload of an `ok`.
    case madeReply = 1
    case tell
    case ask
    case observe
    case delegate
    case hold
    /// The client gets no reply: the frame withdraws the registrations of a refused call.
    case takeBack
  }

  package var method: Method
  package var isOneway: Bool
  package var takesMore: Bool
  package var index: UInt8
  package var count: UInt8
  /// The low bits of the call's time in microseconds. Tickets have the serial of a notification, so a late
  /// answer to one must not match the next one.
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

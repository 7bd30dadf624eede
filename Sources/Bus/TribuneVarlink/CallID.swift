// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The identity of a Varlink call, used as the serial of the call's frames.
///
/// From the serial in an answering frame, the daemon knows which reply to make. So the daemon needs no record
/// of the call, even after a restart. A call needs no number, because a connection has one call at a time.
package struct CallID: Equatable, Sendable {
  package enum Method: UInt8, Sendable {
    /// The daemon makes the complete reply by itself, and queues the reply as the payload of an `ok` frame.
    case madeReply = 1
    case tell
    case ask
    case observe
    case delegate
    case hold
    /// The frame withdraws a registration of a call, because the bus has refused a later one of this call. Or
    /// the frame answers or defers the request in a `Ticket`. The bus's answer to the frame does not become a
    /// reply.
    case takeBack
  }

  package var method: Method
  package var isOneway: Bool
  package var takesMore: Bool
  package var index: UInt8
  package var count: UInt8
  /// The low bits of a post's time in microseconds; 0 in other calls. Each post thus has a different serial,
  /// which is part of the notification's ticket. A late answer to one post cannot match a later post.
  package var moment: UInt32

  /// - Parameter now: the current time in nanoseconds.
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

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The state that only Varlink sessions need. `SessionFlags.inCall` is elsewhere: the log must have it.
final class VarlinkState {
  /// A part of each `Ticket` for this connection, so that other clients cannot guess tickets.
  let secret: UInt64
  /// The number of leading input bytes that the bus has searched, and that contain no zero byte.
  var scannedCount = 0
  var waitsForTime = false
  /// The reply made from the first frame of the queue. Once a part of the reply is sent, the queue counts one
  /// byte of that frame as sent, so that the queue does not drop the frame.
  var reply: ByteBuffer?
  var sentCount = 0
  var isLast = false
  var endsConnection = false
  var isHalfClosed = false
  /// The bus's refusal of the last answer with a ticket of this connection; nil if the bus accepted it.
  var refusal: WireError?

  init(secret: UInt64) { self.secret = secret }

  var unsentCount: Int { reply.map { $0.count - sentCount } ?? 0 }
}

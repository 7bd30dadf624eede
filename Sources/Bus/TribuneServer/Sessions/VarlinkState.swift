// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What a session has beside if its client speaks Varlink: the bus takes its calls as frames, and what is queued for it
/// is written as replies. Whether a call is under way is in the log (`SessionFlags.inCall`).
final class VarlinkState {
  /// Makes the tickets of this connection hard to guess.
  let secret: UInt64
  /// The bytes of the incomplete message that are known to have no zero byte.
  var scannedCount = 0
  /// Whether whole calls wait for the next iteration, because there was no time for them in this one.
  var waitsForTime = false
  /// The reply that is being written, and how much of it the kernel has taken. Its frame is the first of the queue. If
  /// the kernel has taken a part of the reply, one byte of the frame counts as sent, so that the frame is not dropped.
  var reply: ByteBuffer?
  var sentCount = 0
  /// Whether it is the last one of its call, and whether the connection ends with it.
  var isLast = false
  var endsConnection = false
  /// Whether the client sends nothing more, and waits for the last reply.
  var isHalfClosed = false
  /// Why the bus has refused what another connection answered with a ticket of this one.
  var refusal: WireError?

  init(secret: UInt64) { self.secret = secret }

  /// The unwritten bytes of the reply.
  var unsentCount: Int { reply.map { $0.count - sentCount } ?? 0 }
}

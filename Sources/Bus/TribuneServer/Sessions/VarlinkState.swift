// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Varlink-only state of a session. The log, not this type, has the call in progress (`SessionFlags.inCall`).
final class VarlinkState {
  /// Makes the tickets of this connection hard to guess.
  let secret: UInt64
  /// Leading bytes of the incomplete message that contain no zero byte.
  var scannedCount = 0
  /// Whole calls wait for the next iteration, because the user's time is spent.
  var waitsForTime = false
  /// The reply in progress, and its bytes that the kernel has taken. Its frame is the first of the queue.
  /// Once a part is sent, one byte of the frame counts as sent, which protects the frame from dropping.
  var reply: ByteBuffer?
  var sentCount = 0
  /// The reply is the last of its call; the connection ends with it.
  var isLast = false
  var endsConnection = false
  /// The client has closed its sending side, and waits for the last reply.
  var isHalfClosed = false
  /// The bus's refusal of an answer that another connection gave with this connection's ticket.
  var refusal: WireError?

  init(secret: UInt64) { self.secret = secret }

  var unsentCount: Int { reply.map { $0.count - sentCount } ?? 0 }
}

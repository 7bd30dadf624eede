// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Varlink-only state of a session, except `SessionFlags.inCall`.
final class VarlinkState {
  /// Makes the tickets of this connection hard to guess.
  let secret: UInt64
  /// Leading bytes without a zero byte.
  var scannedCount = 0
  var waitsForTime = false
  /// The reply to the queue's first frame, and its sent bytes. Once a part is sent, one byte of the frame is
  /// consumed, which protects the frame from dropping.
  var reply: ByteBuffer?
  var sentCount = 0
  var isLast = false
  var endsConnection = false
  var isHalfClosed = false
  /// The bus's refusal of an answer with this connection's ticket.
  var refusal: WireError?

  init(secret: UInt64) { self.secret = secret }

  var unsentCount: Int { reply.map { $0.count - sentCount } ?? 0 }
}

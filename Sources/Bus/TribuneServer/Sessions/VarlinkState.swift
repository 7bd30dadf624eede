// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Varlink-only state of a session, except `SessionFlags.inCall`.
final class VarlinkState {
  /// Makes the tickets of this connection hard to guess.
  let secret: UInt64
  /// The leading bytes of the input that are known to have no zero byte.
  var scannedCount = 0
  var waitsForTime = false
  /// The reply that the queue's first frame becomes. Once a part of the reply is sent, the queue counts one byte of
  /// the frame as sent, so that it does not drop the frame.
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

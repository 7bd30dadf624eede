// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// A session's unhandled bytes and descriptors.
struct Input: ~Copyable {
  /// True if a later iteration reads the socket, because the user's time in this iteration was spent.
  var isWaiting = false
  var deferred: ByteBuffer?
  var deferredStart = 0
  /// A partial frame. If the frame is long, the buffer has space for the whole frame.
  var partial: ByteBuffer?
  var partialReserved = 0
  /// The time since which the client could have sent the rest of its partial frame.
  var partialSince = Instant(nanoseconds: 0)
  var isWatchedForProgress = false
  /// The number of consecutive rounds in which deadlines have waited for this input (`DueTimeouts`).
  var roundCount = 0
  var roundEnd = Instant(nanoseconds: 0)
  /// Descriptors that arrived before the rest of their frames.
  var descriptors = PassedDescriptors()
  var descriptorsCounted = 0
  /// True if the bus has handled the client's last frame (`isLast` of a `hold` or `begin`).
  var hasLast = false

  var count: Int { partial?.count ?? deferred.map { $0.count - deferredStart } ?? 0 }

  func append(to buffer: ByteBuffer) {
    if let partial {
      buffer.append(partial.bytes)
    } else if let deferred {
      buffer.append(deferred.bytes(in: deferredStart..<deferred.count))
    }
  }

  var isEmpty: Bool { partial == nil && deferred == nil && descriptors.isEmpty }
}

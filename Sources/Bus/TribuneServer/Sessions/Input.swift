// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// A session's unhandled bytes and descriptors.
struct Input: ~Copyable {
  /// A later iteration reads the session, because its user's time is spent.
  var isWaiting = false
  /// Whole frames for the next iteration, because the user's time is spent.
  var deferred: ByteBuffer?
  var deferredStart = 0
  /// For a long frame, the buffer has space for all of it.
  var partial: ByteBuffer?
  /// Bytes of `partial` that are charged to the user.
  var partialReserved = 0
  /// The last time at which the client became able to send the rest of the partial frame.
  var partialSince = Instant(nanoseconds: 0)
  /// A timeout that checks `partialSince` is scheduled.
  var isWatchedForProgress = false
  /// Consecutive rounds in which deadlines have waited for this input, and the end of the last round.
  var roundCount = 0
  var roundEnd = Instant(nanoseconds: 0)
  /// Descriptors that arrived before the rest of their frames.
  var descriptors = PassedDescriptors()
  /// Descriptors that `DescriptorQuota` has counted.
  var descriptorsCounted = 0
  /// The bus has handled the client's last frame (`Hold.isLast`).
  var hasLast = false

  /// In bytes.
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

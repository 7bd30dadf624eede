// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// A session's unhandled bytes and descriptors.
struct Input: ~Copyable {
  /// The user's time is spent, so a later iteration reads the socket.
  var isWaiting = false
  var deferred: ByteBuffer?
  var deferredStart = 0
  /// A partial frame. The buffer of a long frame has space for all of it.
  var partial: ByteBuffer?
  var partialReserved = 0
  /// The moment from which the client has been able to send the rest.
  var partialSince = Instant(nanoseconds: 0)
  var isWatchedForProgress = false
  /// Consecutive rounds in which deadlines have waited for this input.
  var roundCount = 0
  var roundEnd = Instant(nanoseconds: 0)
  /// Descriptors that arrived before the rest of their frames.
  var descriptors = PassedDescriptors()
  var descriptorsCounted = 0
  /// The bus has handled the client's last frame (`isLast` of a hold or begin).
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

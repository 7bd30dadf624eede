// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The bytes and descriptors that a session has read, and that the bus has not taken yet.
struct Input: ~Copyable {
  /// Whether it is read in a next iteration, because its user has had its time in this one.
  var isWaiting = false
  /// Whole frames that are left for the next iteration, because the user has had its time.
  var deferred: ByteBuffer?
  /// Where the frames in `deferred` begin.
  var deferredStart = 0
  /// The start of a frame whose rest has not come. For a long frame, the buffer has space for all of it.
  var partial: ByteBuffer?
  /// Bytes of `partial` that count against the limit for unfinished frames.
  var partialReserved = 0
  /// When the client last became able to send the rest of the partial frame.
  var partialSince = Instant(nanoseconds: 0)
  /// Whether a timeout is scheduled that checks `partialSince`.
  var isWatchedForProgress = false
  /// For how many rounds, one after the other, deadlines have waited until all of it is taken, and the end of the last.
  var roundCount = 0
  var roundEnd = Instant(nanoseconds: 0)
  /// Descriptors that came before the rest of their frames.
  var descriptors = PassedDescriptors()
  /// How many of these descriptors `DescriptorQuota` has counted.
  var descriptorsCounted = 0
  /// Whether the client has sent its last frame (`Hold.isLast`), and the bus has taken it.
  var hasLast = false

  /// The bytes that were read and not handled.
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

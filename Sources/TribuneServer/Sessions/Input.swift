// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What a session has read and not taken.
struct Input: ~Copyable {
  /// Whole frames that are taken in the next iteration, because this one had lasted long enough.
  var deferred: ByteBuffer?
  /// Where they begin.
  var deferredStart = 0
  /// The start of a frame whose rest has not come. Of a long frame, the buffer has space for all of it.
  var partial: ByteBuffer?
  /// Bytes of `partial` that count against the limit for unfinished frames.
  var partialReserved = 0
  /// Since when its client could have sent the rest of the partial frame.
  var partialSince = Instant(nanoseconds: 0)
  /// A timeout is scheduled that will look at `partialSince`.
  var isWatchedForProgress = false
  /// Descriptors that came before the rest of their frames.
  var descriptors = PassedDescriptors()
  /// How many of them `DescriptorQuota` has counted.
  var descriptorsCounted = 0

  var isEmpty: Bool { partial == nil && deferred == nil && descriptors.isEmpty }
}

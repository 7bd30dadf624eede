// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A notification whose poster waits until the awaited observers have handled it.
final class AwaitedPost {
  let poster: ConnectionSlot
  let posterID: ConnectionID
  let serial: Serial
  let posted: Instant
  var waiting: Set<ConnectionSlot>
  var acknowledged: UInt32
  var missing: [MissingObserver]
  /// nil if the post had no monitors.
  let shown: QueryTail?
  var rememberedByteCount = 0
  var reasonByteCount = 0

  var deadline: Due.Handle?

  init(
    poster: ConnectionSlot, posterID: ConnectionID, serial: Serial, posted: Instant,
    waiting: Set<ConnectionSlot>, shown: QueryTail? = nil, acknowledged: UInt32 = 0,
    missing: [MissingObserver] = []
  ) {
    self.poster = poster
    self.posterID = posterID
    self.serial = serial
    self.posted = posted
    self.waiting = waiting
    self.shown = shown
    self.acknowledged = acknowledged
    self.missing = missing
    count = waiting.count + Int(acknowledged) + missing.count
  }

  /// A unique sort key, the oldest first.
  var age: (UInt64, UInt64, Serial) { (posted.nanoseconds, posterID.rawValue, serial) }

  /// Includes settled observers.
  let count: Int

  /// Sorted, because the observers' order in time does not matter.
  var reply: Awaited {
    Awaited(acknowledged: acknowledged, missing: missing.sorted { $0.connection < $1.connection })
  }
}

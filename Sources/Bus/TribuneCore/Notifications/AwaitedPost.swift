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
  /// The name and the object for monitors. nil if the bus had no monitors when the post came.
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

  /// A unique sort key, which puts the oldest post first.
  var age: (UInt64, UInt64, Serial) { (posted.nanoseconds, posterID.rawValue, serial) }

  /// The number of awaited observers, including those that have acknowledged or failed.
  let count: Int

  /// The missing observers are sorted by connection, so the reply does not depend on the order in which the
  /// bus recorded their failures.
  var reply: Awaited {
    Awaited(acknowledged: acknowledged, missing: missing.sorted { $0.connection < $1.connection })
  }
}

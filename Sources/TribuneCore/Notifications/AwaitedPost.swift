// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A notification whose poster waits until those who have something to do first have done it.
final class AwaitedPost {
  let poster: ConnectionSlot
  let posterID: ConnectionID
  let serial: Serial
  let posted: Instant
  /// Those who have not said anything yet.
  var waiting: Set<ConnectionSlot>
  var acknowledged: UInt32
  var missing: [Awaited.Missing]
  /// Its name and object for those who watch, if somebody did when it was posted.
  let shown: QueryTail?
  /// Of itself, as they were counted.
  var rememberedByteCount = 0
  /// Of the reasons of those who failed.
  var reasonByteCount = 0

  init(
    poster: ConnectionSlot, posterID: ConnectionID, serial: Serial, posted: Instant,
    waiting: Set<ConnectionSlot>, shown: QueryTail? = nil, acknowledged: UInt32 = 0,
    missing: [Awaited.Missing] = []
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

  /// Less for an older post; differs for any two.
  var age: (UInt64, UInt64, Serial) { (posted.nanoseconds, posterID.rawValue, serial) }

  /// All whom it waits for, or has waited for.
  let count: Int

  /// What the poster is told: by connection, since who is missing is a question of who, not of when.
  var reply: Awaited {
    Awaited(acknowledged: acknowledged, missing: missing.sorted { $0.connection < $1.connection })
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What a connection, or all of a user's connections in a unit, sent and received.
nonisolated struct TrafficCounts: Counts, Equatable {
  var posted: UInt64 = 0
  /// The bytes of these notifications, as frames.
  var postedBytes: UInt64 = 0
  /// Notifications that were queued for it.
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
  var asked: UInt64 = 0
  /// Frames that the policy refused.
  var denied: UInt64 = 0
  /// Frames that were refused for another reason.
  var refused: UInt64 = 0

  var activity: UInt64 { posted &+ delivered &+ asked &+ denied &+ refused }

  mutating func add(_ other: TrafficCounts) {
    posted &+= other.posted
    postedBytes &+= other.postedBytes
    delivered &+= other.delivered
    lost &+= other.lost
    asked &+= other.asked
    denied &+= other.denied
    refused &+= other.refused
  }

  /// Takes over what a counter of 32 bits, which starts with the connection, has counted since the last call. If that were
  /// 2³² or more, 2³² would be missing: it happens to a connection that nobody lists, and that the log does not compact,
  /// for so long.
  mutating func noteDelivered(upTo count: UInt32) {
    delivered &+= UInt64(count &- UInt32(truncatingIfNeeded: delivered))
  }
}

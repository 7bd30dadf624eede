// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Traffic counters of a connection, or of a user's connections in a unit.
nonisolated struct TrafficCounts: Counts, Equatable {
  var posted: UInt64 = 0
  var postedBytes: UInt64 = 0
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
  var asked: UInt64 = 0
  var denied: UInt64 = 0
  /// Excludes refusals by the policy, which `denied` counts.
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

  /// Adds the increase of `count` since the last call. `count` must start at 0 together with `delivered`, and
  /// wraps around. An increase of 2³² or more is counted too low, by a multiple of 2³².
  mutating func countDelivered(upTo count: UInt32) {
    delivered &+= UInt64(count &- UInt32(truncatingIfNeeded: delivered))
  }
}

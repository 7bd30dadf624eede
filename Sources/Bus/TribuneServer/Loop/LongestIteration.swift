// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// The duration of the longest recent iteration of the event loop, without the wait for events.
nonisolated struct LongestIteration {
  private static let periodNanoseconds: UInt64 = 60_000_000_000

  private var longest: UInt64 = 0
  private var longestBefore: UInt64 = 0
  private var periodBegan = Instant(nanoseconds: 0)

  mutating func record(from began: Instant, to ended: Instant) {
    advance(to: began)
    longest = max(longest, ended.nanoseconds(since: began))
  }

  private mutating func advance(to now: Instant) {
    let elapsed = now.nanoseconds(since: periodBegan)
    guard elapsed >= Self.periodNanoseconds else { return }
    longestBefore = elapsed < 2 * Self.periodNanoseconds ? longest : 0
    longest = 0
    periodBegan = now
  }

  /// Covers the last one to two minutes.
  mutating func nanoseconds(at now: Instant) -> UInt64 {
    advance(to: now)
    return max(longest, longestBefore)
  }
}

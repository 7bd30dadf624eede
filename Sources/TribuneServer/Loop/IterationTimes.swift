// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// How many iterations the event loop made, and how long the longest took, without waiting.
nonisolated struct IterationTimes {
  private static let periodNanoseconds: UInt64 = 60_000_000_000

  private(set) var count: UInt64 = 0
  /// The longest one since `periodBegan`, and of the period before that.
  private var longest: UInt64 = 0
  private var longestBefore: UInt64 = 0
  private var periodBegan = Instant(nanoseconds: 0)

  @inline(__always) mutating func noteEnd() { count &+= 1 }

  /// Notes how long an iteration took that may have been long.
  mutating func note(from began: Instant, to ended: Instant) {
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

  /// The longest one in the last minute, or in up to a minute more.
  mutating func longestNanoseconds(at now: Instant) -> UInt64 {
    advance(to: now)
    return max(longest, longestBefore)
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// Limits the lines that each user can have printed in a second.
struct LineLimits {
  private static let linesMax = 20

  private var second: UInt64 = 0
  /// Lines of each user in this second.
  private var counts: [UInt32: Int] = [:]

  /// Whether another line of a user is printed.
  mutating func take(for user: UInt32) -> Bool {
    let now = SystemClock.monotonicNanoseconds / 1_000_000_000
    if now != second { (second, counts) = (now, [:]) }
    counts[user, default: 0] += 1
    return counts[user, default: 0] <= Self.linesMax
  }
}

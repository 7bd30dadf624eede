// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// Limits each user to 20 printed lines in a period, by default in each second.
struct LineLimits {
  private static let linesMax = 20

  private let seconds: UInt64
  private var period: UInt64 = 0
  private var counts: [UInt32: Int] = [:]

  init(perSeconds seconds: UInt64 = 1) { self.seconds = seconds }

  mutating func take(for user: UInt32) -> Bool {
    let now = SystemClock.monotonicNanoseconds / 1_000_000_000 / seconds
    if now != period { (period, counts) = (now, [:]) }
    counts[user, default: 0] += 1
    return counts[user, default: 0] <= Self.linesMax
  }
}

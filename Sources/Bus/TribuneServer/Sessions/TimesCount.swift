// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// Counts the occurrences of a condition and their total duration.
struct TimesCount {
  private(set) var count: UInt64 = 0
  private var nanoseconds: UInt64 = 0
  private var since: Instant?

  mutating func begin(at now: Instant) {
    count += 1
    since = now
  }

  mutating func end(at now: Instant) {
    nanoseconds = nanoseconds(at: now)
    since = nil
  }

  func nanoseconds(at now: Instant) -> UInt64 {
    nanoseconds + (since.map { now.nanoseconds(since: $0) } ?? 0)
  }
}

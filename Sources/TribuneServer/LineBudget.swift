// SPDX-License-Identifier: Apache-2.0

package import TribuneCore

/// How many lines in a second something may take in the log that peers can cause as often as they like, and how
/// many it would have taken beyond that.
nonisolated package struct LineBudget {
  package static let periodNanoseconds: UInt64 = 1_000_000_000

  private let linesPerSecond: Int
  private var used = 0
  private var end = Instant(nanoseconds: 0)
  /// Lines that were left out since this was last taken.
  package private(set) var omittedCount = 0

  package init(linesPerSecond: Int) {
    self.linesPerSecond = linesPerSecond
  }

  /// Whether there is another line; else it is counted.
  package mutating func take(at now: Instant) -> Bool {
    if end <= now {
      end = now.advanced(byNanoseconds: Self.periodNanoseconds)
      used = 0
    }
    guard used < linesPerSecond else {
      omittedCount += 1
      return false
    }
    used += 1
    return true
  }

  package mutating func takeOmittedCount() -> Int {
    defer { omittedCount = 0 }
    return omittedCount
  }
}

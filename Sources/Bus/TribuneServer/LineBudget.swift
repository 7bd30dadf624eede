// SPDX-License-Identifier: Apache-2.0

package import TribuneCore

/// Limits the log lines per second for events that peers can cause at will.
nonisolated package struct LineBudget {
  package static let periodNanoseconds: UInt64 = 1_000_000_000

  private let linesPerSecond: Int
  private var used = 0
  private var end = Instant(nanoseconds: 0)
  package private(set) var omittedCount = 0

  package init(linesPerSecond: Int) { self.linesPerSecond = linesPerSecond }

  /// Takes `weight` lines from the budget. If the budget is spent, counts an omitted line and returns false.
  package mutating func take(weight: @autoclosure () -> Int = 1, at now: Instant) -> Bool {
    if end <= now {
      end = now.advanced(byNanoseconds: Self.periodNanoseconds)
      used = 0
    }
    guard used < linesPerSecond else {
      omittedCount += 1
      return false
    }
    used += weight()
    return true
  }

  package mutating func takeOmittedCount() -> Int {
    defer { omittedCount = 0 }
    return omittedCount
  }
}

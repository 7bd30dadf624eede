// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// A time on a monotonic clock.
package struct Instant: Hashable, Comparable, Sendable {
  package let nanoseconds: UInt64

  package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  package static func < (one: Instant, other: Instant) -> Bool { one.nanoseconds < other.nanoseconds }
  /// Without this operator, other modules would call the standard library's slower one (by witness tables).
  package static func <= (one: Instant, other: Instant) -> Bool { one.nanoseconds <= other.nanoseconds }

  package func advanced(byNanoseconds step: UInt64) -> Instant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(step)
    return Instant(nanoseconds: overflow ? .max : sum)
  }

  package func advanced(by span: TimeSpan) -> Instant {
    let (step, overflow) = UInt64(span.microseconds).multipliedReportingOverflow(by: 1_000)
    return advanced(byNanoseconds: overflow ? .max : step)
  }

  package func advanced(byMilliseconds step: UInt32) -> Instant {
    advanced(byNanoseconds: UInt64(step) * 1_000_000)
  }

  /// Returns 0 if `earlier` is later than this time.
  package func nanoseconds(since earlier: Instant) -> UInt64 {
    nanoseconds > earlier.nanoseconds ? nanoseconds - earlier.nanoseconds : 0
  }

  /// The milliseconds since `earlier`, rounded up.
  package func milliseconds(since earlier: Instant) -> UInt32 {
    let span = nanoseconds(since: earlier)
    return UInt32(clamping: span / 1_000_000 + (span % 1_000_000 == 0 ? 0 : 1))
  }
}

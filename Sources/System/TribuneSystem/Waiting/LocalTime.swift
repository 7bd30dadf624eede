// SPDX-License-Identifier: Apache-2.0

import Glibc

package struct LocalTime: Equatable, Sendable {
  package var year: CInt
  /// The month, from 1.
  package var month: CInt
  /// The day, from 1. A day outside the month is also valid: 0 is the last day of the previous month.
  package var day: CInt
  package var hour: CInt
  package var minute: CInt
  package var second: CInt

  package init(year: CInt, month: CInt, day: CInt, hour: CInt = 0, minute: CInt = 0, second: CInt = 0) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
  }

  /// Returns nil if the year is too large for the C library's calendar.
  package init?(microsecondsSince1970: UInt64) {
    var seconds = time_t(clamping: microsecondsSince1970 / 1_000_000)
    var parts = unsafe tm()
    guard unsafe localtime_r(&seconds, &parts) != nil else { return nil }
    unsafe self.init(
      year: parts.tm_year + 1900, month: parts.tm_mon + 1, day: parts.tm_mday, hour: parts.tm_hour,
      minute: parts.tm_min, second: parts.tm_sec)
  }

  /// The same time in UTC. Nil if this time is before 1970. mktime(3) determines whether summer time applies.
  package var microsecondsSince1970: UInt64? {
    var parts = unsafe tm()
    unsafe parts.tm_year = year - 1900
    unsafe parts.tm_mon = month - 1
    unsafe parts.tm_mday = day
    unsafe parts.tm_hour = hour
    unsafe parts.tm_min = minute
    unsafe parts.tm_sec = second
    unsafe parts.tm_isdst = -1
    let seconds = unsafe mktime(&parts)
    return seconds < 0 ? nil : UInt64(seconds) * 1_000_000
  }
}

extension LocalTime {
  /// The date, such as `2026-11-20`.
  package var date: String { "\(year)-\(Self.digits(month))-\(Self.digits(day))" }

  /// The time, such as `23:10:05`.
  package var timeOfDay: String { "\(Self.digits(hour)):\(Self.digits(minute)):\(Self.digits(second))" }

  private static func digits(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

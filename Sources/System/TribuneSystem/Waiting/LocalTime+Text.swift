// SPDX-License-Identifier: Apache-2.0

extension LocalTime {
  /// `2026-11-20`.
  package var date: String { "\(year)-\(Self.digits(month))-\(Self.digits(day))" }

  /// `23:10:05`.
  package var timeOfDay: String { "\(Self.digits(hour)):\(Self.digits(minute)):\(Self.digits(second))" }

  private static func digits(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

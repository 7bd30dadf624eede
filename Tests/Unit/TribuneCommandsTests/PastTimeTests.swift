// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TribuneCommands

@Suite("A time in the past")
struct PastTimeTests {
  private static let now = moment(2026, 3, 1, 12, 30, 45) + 500_000

  private static func moment(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0
  ) -> UInt64 {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .current
    let date = calendar.date(
      from: DateComponents(year: year, month: month, day: day, hour: hour, minute: minute, second: second))
    return UInt64((date ?? .distantPast).timeIntervalSince1970) * 1_000_000
  }

  @Test(
    "is read in each form",
    arguments: [
      ("now", now), ("1h", now - 3_600_000_000), ("-1h", now - 3_600_000_000),
      ("1h ago", now - 3_600_000_000), ("2h 30min ago", now - 9_000_000_000), ("90", now - 90_000_000),
      ("0", now), ("1000y", 0), ("today", moment(2026, 3, 1)), ("yesterday", moment(2026, 2, 28)),
      ("23:10", moment(2026, 3, 1, 23, 10)), ("00:00:07", moment(2026, 3, 1, 0, 0, 7)),
      ("2026-02-28", moment(2026, 2, 28)), ("2024-02-29 23:59", moment(2024, 2, 29, 23, 59)),
      ("2025-12-31 01:02:03", moment(2025, 12, 31, 1, 2, 3)),
    ])
  func forms(text: String, expected: UInt64) throws {
    #expect(try PastTime.parse(text, of: "--since", now: Self.now) == expected)
  }

  @Test(
    "has no other form",
    arguments: [
      "", "tomorrow", "today 10:00", "24:00", "10:60", "1:2", "10:00:60", "2026-02-29", "2026-00-01",
      "2026-1-1", "2026-01-01T10:00", "2026-01-01 10:00 UTC", "--1h", "-1h ago", "1h ago ago", "infinity",
      "٢٠٢٦-01-01", "1960-01-01",
    ])
  func others(text: String) {
    #expect { _ = try PastTime.parse(text, of: "--since", now: Self.now) } throws: { error in
      (error as? CommandError)?.status == ExitStatus.usage
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Time spans", .timeLimit(.minutes(15)))
struct TimeSpanTests {
  @Test(
    "spans of systemd.time(7) are read",
    arguments: [
      ("0", 0), ("5", 5_000_000), ("1.5", 1_500_000), (".5s", 500_000), ("5s", 5_000_000),
      ("5 sec", 5_000_000), ("2 seconds", 2_000_000), ("350ms", 350_000), ("12us", 12), ("12µs", 12),
      ("12usec", 12), ("5min", 300_000_000), ("5m", 300_000_000), ("1h 30min", 5_400_000_000),
      ("1h30min", 5_400_000_000), ("  2 hours\t", 7_200_000_000), ("1d", 86_400_000_000),
      ("1w", 604_800_000_000), ("1M", 2_629_800_000_000), ("1y", 31_557_600_000_000), ("1.5min", 90_000_000),
      ("0.0000019s", 1), ("1min 5", 65_000_000), ("55s500ms", 55_500_000),
      ("292271y", 9_223_371_309_600_000_000),
    ] as [(String, Int64)])
  func reads(text: String, microseconds: Int64) throws {
    #expect(try TimeSpan(text).microseconds == microseconds)
  }

  @Test(
    "invalid spans are refused with a reason",
    arguments: [
      ("", "empty"), ("  ", "empty"), ("-1", "negative"), ("1 -1", "negative"), ("5x", "unknown unit \"x\""),
      ("min", "not a time span"), ("1.s", "no digit"), ("infinity", "finite"), ("1e3", "unknown unit \"e\""),
      ("99999999999999999999", "too long"), ("292272y", "too long"), ("9223372036854775807", "too long"),
      ("5s\u{1B}[2J", "\\u{1b}"), ("٥s", "not a time span"),
    ])
  func refuses(text: String, reason: String) {
    let error = #expect(throws: TimeSpan.SyntaxError.self) { _ = try TimeSpan(text) }
    #expect(error?.description.contains(reason) == true)
  }

  @Test(
    "a span is written in two units at most",
    arguments: [
      (0, "0"), (999, "999us"), (1_500, "1ms"), (999_999, "999ms"), (1_000_000, "1s"), (1_050_000, "1.050s"),
      (59_999_000, "59.999s"), (60_000_000, "1min"), (65_000_000, "1min 5s"), (3_600_000_000, "1h"),
      (3_605_000_000, "1h"), (90_061_000_000, "1d 1h"), (Int64.max, "292271y 8d"),
    ])
  func writes(microseconds: Int64, text: String) {
    #expect(TimeSpan(microseconds: microseconds).description == text)
  }

  @Test("milliseconds are rounded up, so a short span is not 0")
  func milliseconds() {
    let rounded = [0, 1, 1_000, .max].map { TimeSpan(microseconds: $0).milliseconds }
    #expect(rounded == [0, 1, 1, Int64.max / 1_000 + 1])
  }
}

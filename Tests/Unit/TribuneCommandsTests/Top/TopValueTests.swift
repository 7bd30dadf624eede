// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

@Suite("The values of top", .timeLimit(.minutes(15)))
struct TopValueTests {
  @Test(
    "a value takes few characters",
    arguments: [
      (.missing, "-"), (.text(""), "-"), (.text("a"), "a"), (.id(4_294_967_294), "4294967294"),
      (.count(99_999), "99999"), (.count(100_000), "100k"), (.count(12_345_678), "12M"),
      (.count(.max), "9223372036G"),
      (.bytes(9_999), "9999"), (.bytes(10_240), "10K"), (.bytes(64 << 20), "65536K".count > 5 ? "64M" : ""),
      (.rate(0), "0"), (.rate(0.04), "0"), (.rate(1.25), "1.3"), (.rate(99.96), "100"),
      (.rate(1234.4), "1234"),
      (.rate(.infinity), "-"), (.duration(.zero), "0us"), (.duration(.microseconds(999)), "999us"),
      (.duration(.milliseconds(12)), "12ms"), (.duration(.milliseconds(1_250)), "1.2s"),
      (.duration(.seconds(99)), "99s"), (.duration(.seconds(100)), "1min"),
      (.duration(.seconds(7_200)), "2h"),
      (.duration(.seconds(864_000)), "10d"), (.duration(.seconds(-1)), "0us"),
    ] as [(TopValue, String)])
  func shown(value: TopValue, text: String) { #expect(value.shown == text) }

  @Test(
    "values are compared by meaning",
    arguments: [
      (.missing, .count(0)), (.missing, .text("")), (.text("B"), .text("a")),
      (.connection(":9"), .connection(":10")),
      (.duration(.milliseconds(999)), .duration(.seconds(1))), (.rate(0.5), .rate(2)), (.id(9), .id(10)),
    ] as [(TopValue, TopValue)])
  func order(one: TopValue, other: TopValue) {
    #expect(one < other)
    #expect(!(other < one))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneWeb
import TribuneWire

@testable import Tribune

@Suite("The last hour", .timeLimit(.minutes(15)))
struct HistoryTests {
  private func status(posted: Int, uptime: UInt64 = 2) -> BusStatus {
    BusStatus(BusEntry(uptime: uptime, posted: UInt64(posted)))
  }

  @Test("An interval has the events in a second, once it is over")
  func rates() {
    var history = History()
    for second in 100...109 { history.record(status(posted: 1_000 + (second - 100) * 2), at: second) }
    #expect(history.json(at: 109).compact.contains("\"times\":[]"))
    let json = history.json(at: 110).compact
    #expect(json.contains("\"times\":[100]") && json.contains("\"posted\":[1.8]"))
  }

  @Test("Counters that were reset count from there, even after the bus was away")
  func restarts() {
    var history = History()
    history.record(status(posted: 1_000), at: 100)
    history.record(status(posted: 10, uptime: 1), at: 101)
    history.record(status(posted: 20, uptime: 1), at: 102)
    history.interrupt()
    history.record(status(posted: 5_000), at: 103)
    #expect(history.json(at: 110).compact.contains("\"posted\":[1.0]"))
  }

  @Test("A day takes no more than an hour")
  func day() {
    var history = History()
    for second in 0..<86_400 {
      history.record(status(posted: second), at: second)
      history.record(latency: .milliseconds(1), at: second)
    }
    let hour = history.json(at: 86_400).compact
    #expect(hour.contains("\"times\":[82800,82810,") && hour.contains(",86390]"))
    for second in 86_400..<2 * 86_400 { history.record(status(posted: second), at: second) }
    #expect(history.json(at: 2 * 86_400).compact.utf8.count < hour.utf8.count + 1_000)
  }

  @Test("A clock that is set back or forward leaves it in order")
  func clock() {
    var history = History()
    for second in [1_000, 500, 90_000, 1_000] { history.record(latency: .seconds(1), at: second) }
    #expect(history.json(at: 90_010).compact.contains("\"times\":[90000]"))
  }

  @Test(
    "Latencies have a median, to the accuracy of the bus, and a longest",
    arguments: [
      ([], "null", "null"), ([16], "0.000016", "0.000016"), ([16, 20, 3_000_000], "0.000020", "3"),
      ([3_000, 4_000, 40_000_000], "0.004032", "40"),
    ] as [([Int64], String, String)])
  func quantiles(latencies: [Int64], median: String, longest: String) {
    var history = History()
    history.record(status(posted: 0), at: 100)
    history.record(status(posted: 1), at: 100)
    for latency in latencies { history.record(latency: .microseconds(latency), at: 100) }
    let json = history.json(at: 110).compact
    #expect(json.contains("\"median\":[\(median)],\"longest\":[\(longest)]"), "\(json)")
  }
}

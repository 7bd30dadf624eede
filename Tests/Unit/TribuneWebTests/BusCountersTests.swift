// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWeb

@testable import Tribune

@Suite("Counters of the bus, for Prometheus", .timeLimit(.minutes(15)))
struct BusCountersTests {
  private func status(posted: Int, uptime: Duration = .seconds(1), pid: Int32 = 1) -> BusStatus {
    BusStatus(
      pid: pid, software: "", address: "", uptime: uptime, connections: 0, observations: 0, delegates: 0,
      queries: 0, posted: posted, delivered: 0, lost: 0, asked: 0, vetoed: 0, holds: 0, actions: 0, denied: 0,
      refused: 0,
      postedBytes: 0, iterations: 0, busy: .zero, longestIteration: .zero, logUsed: 0, logMax: 0,
      kept: 0)
  }

  private let outcomes = OutcomeCounts(
    approved: 1, vetoed: 0, abstained: 0, timedOut: 0, gone: 0, failed: 0, held: 0, answered: 0)

  private func name(_ name: String?, asked: Int) -> NameStatistics {
    NameStatistics(
      name: name, asked: asked, vetoed: 0, overridden: 0, cancelled: 0, outcomes: outcomes,
      durations: DurationHistogram())
  }

  /// The last name sums up the names that the bus omits.
  private func take(_ asked: KeyValuePairs<String, Int>, _ counters: inout BusCounters, max countMax: Int = 2)
  {
    var lists = BusSnapshot(status(posted: 0))
    lists.names = asked.map { name($0 == "*" ? nil : $0, asked: $1) }
    counters.update(with: lists, max: countMax)
  }

  private func asked(_ counters: BusCounters) -> [String: Int] {
    var asked: [String: Int] = [:]
    for row in counters.names.own { asked[row.name ?? ""] = row.asked }
    asked["(other)"] = counters.names.others?.asked
    return asked
  }

  @Test("One user's many rows leave separate series for other users' rows")
  func turns() {
    func participant(_ uid: UInt32?, _ label: String) -> ParticipantStatistics {
      ParticipantStatistics(
        role: .delegate, label: label, unit: "", uid: uid, outcomes: outcomes, durations: DurationHistogram())
    }
    var counters = BusCounters()
    var lists = BusSnapshot(status(posted: 0))
    lists.participants = [
      participant(1, "a"), participant(1, "b"), participant(1, "c"), participant(0, "d"),
      participant(nil, ""),
    ]
    counters.update(with: lists, max: 3)
    #expect(counters.participants.own.map(\.label) == ["a", "d", "b"])
    #expect(counters.participants.others?.outcomes.approved == 2)
  }

  @Test("The oldest hold of each pattern has a series, and all other patterns share one")
  func oldestHolds() {
    func hold(_ uid: UInt32, _ pattern: String, _ seconds: Int) -> HoldInfo {
      HoldInfo(
        id: 1, connection: ":2", label: "", pid: 1, uid: uid, process: "", units: Units(), pattern: pattern,
        object: "", why: "", age: .seconds(seconds), expiresIn: nil)
    }
    var counters = BusCounters()
    var lists = BusSnapshot(status(posted: 0))
    lists.holds = [
      hold(1, "a.*", 5), hold(1, "a.*", 9), hold(1, "b.*", 8), hold(1, "c.*", 7), hold(2, "d.*", 1),
    ]
    counters.update(with: status(posted: 0), at: 0)
    counters.update(with: lists, max: 2)
    var picture = BusPicture()
    picture.absence = nil
    let text = String(
      decoding: BusMetrics.text(of: picture, counters, BusMetrics.Own(), .classic), as: UTF8.self)
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("tribune_hold_oldest_seconds{") }
    #expect(
      rows
        == [("a.*", "9.0"), ("d.*", "1.0"), ("(other)", "8.0")].map {
          "tribune_hold_oldest_seconds{pattern=\"\($0)\"} \($1)"
        })
    lists.holds = []
    counters.update(with: lists, max: 2)
    #expect(counters.oldestHolds.isEmpty && counters.oldestOtherHold == nil)
  }

  @Test(
    "Another daemon's counters start again, even if it has the same number",
    arguments: [(2, 9.0), (1, 1.0), (1, 9.0)] as [(Int32, Double)])
  func anew(pid: Int32, uptime: Double) {
    var counters = BusCounters()
    counters.update(with: status(posted: 100, uptime: .seconds(8)), at: 0)
    take(["a": 5, "b": 4, "c": 3], &counters)
    let isNew = counters.update(with: status(posted: 100, uptime: .seconds(8)), at: 0)
    #expect(!isNew && asked(counters) == ["a": 5, "b": 4, "(other)": 3])
    let isOther = counters.update(with: status(posted: 1, uptime: .seconds(uptime), pid: pid), at: 0)
    #expect(isOther && counters.status?.posted == 1 && asked(counters).isEmpty)
    take(["a": 1, "b": 1, "c": 1], &counters)
    #expect(asked(counters) == ["a": 1, "b": 1, "(other)": 1])
  }

  @Test("The start time of the bus does not vary with the clocks, and changes with a restart")
  func start() {
    var counters = BusCounters()
    for (time, uptime, start) in [
      (1_000.4, 100.0, 900), (1_001.6, 101.0, 900), (1_002.3, 102.0, 900), (1_005.0, 1.0, 1_004),
    ] {
      counters.update(with: status(posted: 0, uptime: .seconds(uptime)), at: UInt64(time * 1e6))
      #expect(counters.startSeconds == start)
    }
  }

  @Test("The others' series has its rows' counts, whichever rows join or leave it")
  func others() {
    var counters = BusCounters()
    take(["a": 10, "b": 8, "c": 7, "d": 1], &counters)
    #expect(asked(counters) == ["a": 10, "b": 8, "(other)": 8])
    // 2 of c's 3 new counts came while it was one of the others.
    take(["a": 11, "c": 9, "b": 8, "d": 2], &counters)
    #expect(asked(counters) == ["a": 11, "c": 9, "(other)": 11])
    take(["b": 12, "a": 11, "c": 9, "d": 2], &counters)
    #expect(asked(counters) == ["b": 12, "a": 11, "(other)": 15])
    take(["b": 12, "a": 11, "c": 9, "e": 3, "d": 2], &counters)
    #expect(asked(counters) == ["b": 12, "a": 11, "(other)": 18])
  }

  @Test("A row that the bus no longer lists does not change the others' series")
  func unlisted() {
    var counters = BusCounters()
    take(["a": 10, "b": 8], &counters)
    #expect(asked(counters) == ["a": 10, "b": 8])
    take(["c": 12, "a": 10, "*": 9], &counters)
    #expect(asked(counters) == ["c": 12, "a": 10, "(other)": 13])
    take(["c": 12, "a": 10, "*": 9], &counters)
    #expect(asked(counters) == ["c": 12, "a": 10, "(other)": 13])
  }

  @Test(
    "The metrics of a bus that is full of the longest names and labels have a bounded size",
    arguments: [100, 1_000])
  func size(countMax: Int) {
    let longest = String(repeating: "\"", count: 255)
    let counts = OutcomeCounts(
      approved: 1 << 52, vetoed: 1 << 52, abstained: 1 << 52, timedOut: 1 << 52, gone: 1 << 52,
      failed: 1 << 52,
      held: 1 << 52, answered: 1 << 52)
    var counters = BusCounters()
    counters.update(with: status(posted: 1 << 52), at: 0)
    var lists = BusSnapshot(status(posted: 0))
    for number in 0..<1_000 {
      let uid = UInt32.max - 1 - UInt32(number)
      var name = name(String(repeating: "a", count: 250) + ".\(number)", asked: 1 << 53)
      name.outcomes = counts
      lists.names.append(name)
      lists.holds.append(
        HoldInfo(
          id: 1, connection: ":2", label: longest, pid: 1, uid: uid, process: longest, units: Units(),
          pattern: String(repeating: "a", count: 250) + ".\(number)", object: "", why: "",
          age: .seconds(Int64(1) << 40), expiresIn: nil))
      lists.participants.append(
        ParticipantStatistics(
          role: .delegate, label: longest, unit: longest, uid: uid, outcomes: counts,
          durations: DurationHistogram()))
      lists.users.append(
        UserStatistics(
          uid: uid, unit: longest, connections: 1, posted: 1 << 52, postedBytes: 1 << 52, delivered: 1 << 52,
          lost: 1 << 52, asked: 1 << 52, denied: 1 << 52, refused: 1 << 52))
    }
    counters.update(with: lists, max: countMax)
    var picture = BusPicture()
    picture.absence = nil
    let text = BusMetrics.text(of: picture, counters, BusMetrics.Own(), .openMetrics)
    #expect((36_000...42_000).contains(text.count / countMax))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWeb

@testable import Tribune

@Suite("Questions and their verdicts", .timeLimit(.minutes(15)))
struct QueryTrackerTests {
  private func item(
    _ content: TrafficItem.Content, at time: UInt64 = 0, from: String? = nil, to: String? = nil,
    serial: UInt64,
    name: String = ""
  ) -> TrafficItem {
    TrafficItem(
      time: time, from: from, to: to, receivers: 1, kind: "", serial: serial, name: name, object: "o",
      content: content,
      capture: Array("payload".utf8), frameStart: 0, payloadStart: 0)
  }

  private let ask = TrafficItem.Content.ask(
    mode: .parallel, deadline: nil, fallback: .allowed, parent: nil, override: "why", isDryRun: false)

  private func verdict(_ query: UInt64) -> TrafficItem.Content { .verdict(Verdict(.vetoed, query: query)) }

  private func take(
    _ content: TrafficItem.Content, at time: UInt64 = 0, to: String, serial: UInt64,
    _ tracker: inout QueryTracker
  ) throws -> VerdictRecord {
    let record = tracker.take(item(content, at: time, to: to, serial: serial))
    return try #require(record)
  }

  @Test("A verdict has its question's name and time, by connection and serial")
  func matches() throws {
    var tracker = QueryTracker(keepingUserInfo: false)
    for (from, name) in [(":1", "a.b"), (":2", "c.d")] {
      let nothing = tracker.take(item(ask, at: 1_000, from: from, serial: 7, name: name))
      #expect(nothing == nil)
    }
    let record = try take(verdict(3), at: 3_500, to: ":2", serial: 7, &tracker)
    #expect(record.name == "c.d" && record.object == "o" && record.elapsed == .microseconds(2_500))
    #expect(record.asker == Who(connection: ":2") && record.override == "why" && !record.isValueQuery)
    #expect(record.userInfo.isEmpty)
    #expect(try take(verdict(4), to: ":2", serial: 7, &tracker).name == "")
  }

  @Test("The asker is known from its delegates' questions")
  func asker() throws {
    var tracker = QueryTracker(keepingUserInfo: true)
    _ = tracker.take(item(ask, from: ":1", serial: 1, name: "a.b"))
    let asker = Asker(
      pid: 42, uid: 7, process: "backup", units: Units(system: "backup.service"), connection: ":1")
    let question = TrafficItem.Content.question(
      query: 3, delegate: 1, timeout: .seconds(5), asker: asker, isDryRun: false, wantsValue: false)
    _ = tracker.take(item(question, from: ":1", to: ":9", serial: 0, name: "a.b"))
    let record = try take(verdict(3), to: ":1", serial: 1, &tracker)
    #expect(
      record.asker == Who(connection: ":1", pid: 42, uid: 7, process: "backup", unit: "backup.service"))
    #expect(record.userInfo == "payload")
  }

  @Test("A question's stored data is bounded")
  func bounds() throws {
    var tracker = QueryTracker(keepingUserInfo: false)
    let ask = TrafficItem.Content.ask(
      mode: .parallel, deadline: nil, fallback: .allowed, parent: nil,
      override: String(repeating: "é", count: 2_048), isDryRun: false)
    _ = tracker.take(item(ask, from: ":1", serial: 1, name: "a.b"))
    #expect(
      try take(verdict(3), to: ":1", serial: 1, &tracker).override?.utf8.count == 1_024 + "…".utf8.count)
  }

  @Test("A refused question has no verdict, and a question without one is eventually forgotten")
  func forgets() throws {
    var tracker = QueryTracker(keepingUserInfo: false)
    _ = tracker.take(item(ask, from: ":1", serial: 1, name: "a.b"))
    _ = tracker.take(item(.refusal(code: "refused", message: ""), to: ":1", serial: 1))
    #expect(try take(verdict(3), to: ":1", serial: 1, &tracker).name == "")
    for serial in 0..<UInt64(2 * QueryTracker.recentMax + 1) {
      _ = tracker.take(item(ask, from: ":2", serial: serial, name: "a.b"))
    }
    #expect(try take(verdict(4), to: ":2", serial: 0, &tracker).name == "")
    #expect(
      try take(verdict(5), to: ":2", serial: UInt64(QueryTracker.recentMax), &tracker).name
        == "a.b")
  }

  @Test("The directory has the latest connections")
  func directory() {
    let countMax = 4_096
    var peers = RecentValues<String, Who>(countMax: countMax)
    for number in 0...2 * countMax { peers.set(Who(connection: ":\(number)"), for: ":\(number)") }
    #expect(peers[":0"] == nil)
    #expect(peers[":\(2 * countMax)"] != nil && peers[":\(countMax)"] != nil)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWeb

@testable import Tribune

@Suite("The sections of the page", .timeLimit(.minutes(15)))
struct BusPictureTests {
  private func participant(_ state: QueryInfo.Participant.State, of connection: String? = ":2")
    -> QueryInfo.Participant
  {
    QueryInfo.Participant(
      delegate: 1, connection: connection, label: "l", pid: 1, uid: 0, process: "p", units: Units(),
      state: state,
      reason: "", elapsed: .zero, remaining: nil)
  }

  private func query(_ participants: [QueryInfo.Participant], omitted: Int = 0, object: String = "")
    -> QueryInfo
  {
    QueryInfo(
      id: 1, connection: ":1", pid: 1, uid: 0, process: "", units: Units(), name: "a.b", object: object,
      mode: .parallel, isDryRun: false, age: .zero, remaining: .zero, participants: participants,
      omittedCount: omitted)
  }

  private func json(_ queries: [QueryInfo]) -> String {
    var picture = BusPicture()
    picture.queries = queries
    return String(decoding: picture.queriesJSON(at: 0), as: UTF8.self)
  }

  @Test(
    "A query counts the awaited delegates that are not shown",
    arguments: [
      (asked: 3, settled: 0, held: 0, omitted: 0, shown: 3, more: 0),
      (asked: 200, settled: 56, held: 0, omitted: 9, shown: 16, more: 184),
      (asked: 250, settled: 0, held: 6, omitted: 9, shown: 16, more: 243),
    ])
  func waits(asked: Int, settled: Int, held: Int, omitted: Int, shown: Int, more: Int) {
    let participants =
      (0..<held).map { _ in participant(.settled(.held), of: nil) }
      + (0..<asked).map { _ in participant(.asked) }
      + (0..<settled).map { _ in participant(.settled(.approved)) }
    let json = json([query(participants, omitted: omitted)])
    #expect(json.ranges(of: "\"label\":\"l\"").count == shown)
    #expect(json.hasSuffix("\"waitsOmitted\":\(more)}],\"omitted\":0}"))
  }

  @Test(
    "A section is bounded in rows and in bytes, and counts the rows that it omits",
    arguments: [(length: 0, rows: 1_000), (length: 255, rows: 500)])
  func bounds(length: Int, rows: Int) {
    // A control character takes six bytes in JSON.
    let object = String(repeating: "\u{1}", count: length)
    let json = json((0..<1_500).map { _ in query([participant(.asked)], object: object) })
    let count = json.ranges(of: "\"name\":\"a.b\"").count
    #expect((rows...1_000).contains(count) && json.utf8.count <= 1 << 20 + 100)
    #expect(json.hasSuffix("],\"omitted\":\(1_500 - count)}"))
  }
}

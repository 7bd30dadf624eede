// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

@Suite("The display of a waiting query", .timeLimit(.minutes(15)))
struct WaitingDisplayTests {
  enum Event: Sendable {
    case asked(UInt64, at: Int)
    case deferred(UInt64, String, at: Int)
    case settled(UInt64)
  }

  private static func lines(_ events: [Event], at second: Int, columns: Int = 80) -> [String] {
    var display = WaitingDisplay()
    for event in events {
      switch event {
      case .asked(let id, let second): display.asked(id, participant: "D\(id)", at: .seconds(second))
      case .deferred(let id, let status, let second):
        display.deferred(id, participant: "D\(id)", status: status, at: .seconds(second))
      case .settled(let id): display.remove(id)
      }
    }
    return display.lines(at: .seconds(second), columns: columns)
  }

  @Test(
    "each delegate has a line with its name, its waiting time and its status",
    arguments: [
      ([], 9, []), ([.asked(1, at: 0)], 0, ["waiting for D1, 0s"]),
      ([.asked(1, at: 2)], 75, ["waiting for D1, 1min 13s"]), ([.asked(1, at: 5)], 2, ["waiting for D1, 0s"]),
      ([.deferred(1, "at 40 %", at: 3)], 5, ["waiting for D1, 2s: at 40 %"]),
      (
        [.asked(1, at: 0), .asked(2, at: 1), .deferred(2, "a", at: 2), .deferred(2, "b", at: 3)], 4,
        ["waiting for D1, 4s", "waiting for D2, 3s: b"]
      ),
      ([.deferred(1, "a", at: 0), .asked(1, at: 2)], 4, ["waiting for D1, 4s: a"]),
      ([.deferred(1, "a", at: 0), .deferred(1, "", at: 2)], 4, ["waiting for D1, 4s"]),
      ([.asked(1, at: 0), .asked(2, at: 0), .settled(1), .settled(7)], 1, ["waiting for D2, 1s"]),
      ([.asked(1, at: 0), .settled(1)], 1, []),
      ([.deferred(1, "a\n\u{1B}[2J", at: 0)], 1, ["waiting for D1, 1s: a\\n\\u{1b}[2J"]),
    ] as [([Event], Int, [String])])
  func rows(events: [Event], second: Int, lines: [String]) {
    #expect(Self.lines(events, at: second) == lines)
  }

  @Test("only eight delegates are shown, and the others are counted", arguments: [8, 9, 10_000])
  func many(count: Int) {
    let lines = Self.lines((1...count).map { .asked(UInt64($0), at: 0) }, at: 1)
    #expect(lines.prefix(8) == (1...8).map { "waiting for D\($0), 1s" }[...])
    #expect(lines.dropFirst(8) == (count > 8 ? ["and \(count - 8) more"] : []))
  }

  @Test(
    "no line is wider than the terminal",
    arguments: [
      (18, "", "waiting for D1, 1s"), (17, "", "waiting for D1, …"), (1, "", "…"), (0, "", ""),
      (24, "漢漢漢", "waiting for D1, 1s: 漢…"), (23, "漢漢漢", "waiting for D1, 1s: 漢…"),
      (22, "漢漢漢", "waiting for D1, 1s: …"), (26, "漢漢漢", "waiting for D1, 1s: 漢漢漢"),
    ])
  func width(columns: Int, status: String, line: String) {
    #expect(Self.lines([.deferred(1, status, at: 0)], at: 1, columns: columns) == [line])
  }

  @Test("lines replace the ones before, and leave nothing")
  func replacing() {
    var lines = ReplaceableLines()
    #expect(lines.replace(with: []) == "")
    #expect(lines.replace(with: ["a", "b"]) == "a\nb\n")
    #expect(lines.replace(with: ["c"]) == "\u{1B}[2A\r\u{1B}[Jc\n")
    #expect(lines.replace(with: []) == "\u{1B}[1A\r\u{1B}[J")
    #expect(lines.replace(with: []) == "")
  }
}

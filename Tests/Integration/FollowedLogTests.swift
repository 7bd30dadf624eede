// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("tribunectl log --follow", .timeLimit(.minutes(15)))
struct FollowedLogTests {
  /// 2026-01-02 03:04:05 UTC.
  private static let start: UInt64 = 1_767_323_045_000_000

  private let journal: MadeJournal

  init() throws {
    journal = try MadeJournal((0..<12).map { Self.entry($0) } + [(Self.start + 12, "MESSAGE=listening")])
  }

  private static func entry(_ number: Int, vetoedBy units: [String] = []) -> (UInt64, String) {
    (start + UInt64(number), MadeJournal.verdict("a.should\(number)", vetoedBy: units))
  }

  private func follow(_ arguments: [String]) throws -> RunningProgram {
    let program = try RunningProgram(
      [try Programs.path(of: "tribunectl"), "log", "--follow", "-j", "--directory=\(journal.directory)"]
        + arguments, environment: ["TZ": "UTC"])
    #expect(try program.errors.line() == "following the journal")
    return program
  }

  private func names(_ count: Int, from program: RunningProgram) throws -> [String] {
    try (0..<count).map { _ in try program.output.object()["name"] as? String ?? "" }
  }

  @Test(
    "begins with the last selected verdicts, and prints further ones as they come",
    arguments: [
      ([], Array(2..<12)), (["-n", "2"], [10, 11]), (["-n", "0"], []), (["-n", "99"], Array(0..<12)),
      (["--since=2026-01-01"], Array(0..<12)), (["--since=2026-01-02 03:04:06"], []), (["b.*"], []),
      (["--vetoed", "-n", "1"], []), (["--by=a.service"], []),
    ])
  func further(arguments: [String], expected: [Int]) throws {
    let program = try follow(arguments)
    #expect(try names(expected.count, from: program) == expected.map { "a.should\($0)" })
    let later: UInt64 = 2_000_000
    let isSelected = MadeJournal.verdict("b.shouldC", vetoedBy: ["a.service"])
    try journal.append([(Self.start + later, isSelected), (Self.start + later + 1, "MESSAGE=x")])
    #expect(try names(1, from: program) == ["b.shouldC"])
    try journal.append([(Self.start + later + 2, isSelected)], to: "next")
    #expect(try names(1, from: program) == ["b.shouldC"])
    #expect(program.end(SIGTERM) == 0)
    #expect(try program.output.rest() == "")
    #expect(try program.errors.rest() == "")
  }

  @Test("omits verdicts that the options do not select")
  func filtered() throws {
    let program = try follow(["--by=a.service", "-n", "0"])
    try journal.append([
      Self.entry(20), Self.entry(21, vetoedBy: ["b.service"]), Self.entry(22, vetoedBy: ["a.service"]),
    ])
    #expect(try names(1, from: program) == ["a.should22"])
  }

  @Test("ends with 0 when it is interrupted", arguments: [SIGINT, SIGTERM, SIGHUP])
  func interrupted(signal: CInt) throws {
    let program = try follow([])
    #expect(program.end(signal) == 0)
  }

  @Test("ends with 0 at the next verdict once its output has no reader")
  func closedOutput() throws {
    let program = try follow(["-n", "0"])
    try program.stopReading()
    try journal.append([Self.entry(20)])
    #expect(program.status() == 0)
    #expect(try program.errors.rest() == "")
  }

  @Test("fails if there is no journal")
  func nothing() throws {
    let folder = try TestFolder()
    let program = try FinishedProgram([
      try Programs.path(of: "tribunectl"), "log", "-f", "--directory=\(folder.path)",
    ])
    program.expect(1, output: "", errors: "tribunectl: there is no journal in \(folder.path)\n")
  }
}

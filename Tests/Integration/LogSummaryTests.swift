// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("tribunectl log by vetoer", .timeLimit(.minutes(15)))
struct LogSummaryTests {
  /// 2026-01-02 03:04:05 UTC.
  private static let start: UInt64 = 1_767_323_045_000_000
  private static let minute: UInt64 = 60_000_000

  private let journal: MadeJournal

  init() throws {
    let verdicts = [
      MadeJournal.verdict("host.shouldReboot", vetoedBy: ["backup.service"], microseconds: 2_000),
      MadeJournal.verdict(
        "host.shouldReboot", vetoedBy: ["backup.service", "update.service"], microseconds: 90_000),
      MadeJournal.verdict("host.shouldReboot", microseconds: 3_500_000),
      MadeJournal.verdict("window.shouldClose", vetoedBy: ["update.service"], override: "it hangs"),
    ]
    journal = try MadeJournal(
      verdicts.enumerated().map { (Self.start + UInt64($0.offset) * Self.minute, $0.element) })
  }

  private func log(_ arguments: [String]) throws -> FinishedProgram {
    try TestBus.tribunectl(
      ["log", "--directory=\(journal.directory)"] + arguments, address: "unix:/nowhere",
      environment: ["TZ": "UTC", "NO_COLOR": "1"])
  }

  @Test(
    "shows the verdicts that the options select",
    arguments: [
      (["--vetoed"], [0, 1]), (["--by=backup.service"], [0, 1]), (["--by=update.service"], [1, 3]),
      (["--by=*.service"], [0, 1, 3]), (["--by=update*", "--vetoed"], [1]), (["--by=backup"], []),
      (["--until=2026-01-02 03:05:05"], [0, 1]), (["--until=2026-01-02 03:05:04"], [0]),
      (["--until=2026-01-02 03:05:05", "-n", "1"], [1]), (["--until=2026-01-01"], []),
      (["--since=2026-01-02 03:05:05", "--until=2026-01-02 03:05:05"], [1]),
      (["--since=2026-01-02 03:05:05", "--until=2026-01-02 03:06:05", "-n", "9"], [1, 2]),
      (["--by=update.service", "-n", "1"], [3]), (["-n", "0"], []),
      (["host.**", "--by=update.service", "--since=2026-01-02", "--until=1min ago"], [1]),
    ])
  func selection(arguments: [String], expected: [Int]) throws {
    let shown = try log(["--json=short"] + arguments)
    #expect(shown.status == 0, "\(shown.errors)")
    let times = shown.lines.map { line in line.dropFirst("{\"time\":".count).prefix { $0 != "," } }
    #expect(times == expected.map { "\(Self.start + UInt64($0) * Self.minute)" })
  }

  @Test("--summary shows how often each vetoed, and how long the waits were")
  func summary() throws {
    try log(["--summary"]).expect(
      0,
      output: """
        NAME                MEDIAN     P99  LONGEST  ASKED  ALLOWED  VETOED
        host.shouldReboot     88ms  3.500s   3.500s      3        1       2
          backup.service                                                  2
          update.service                                                  1
        window.shouldClose       -       -        -      1        1       0
          update.service                                                  1

        4 verdicts.

        """, errors: "")
  }

  @Test(
    "--summary counts the selected verdicts",
    arguments: [
      ([], ["host.shouldReboot", "window.shouldClose"], 3), (["--vetoed"], ["host.shouldReboot"], 2),
      (["--by=update.service"], ["host.shouldReboot", "window.shouldClose"], 1),
      (["--since=2026-01-02 03:05:05", "--until=2026-01-02 03:06:05"], ["host.shouldReboot"], 2),
      (["host.*", "-n", "1"], ["host.shouldReboot"], 1), (["a.*"], [], nil),
    ] as [([String], [String], Int?)])
  func selectedSummary(arguments: [String], names: [String], asked: Int?) throws {
    let shown = try log(["--summary", "-j"] + arguments)
    #expect(shown.status == 0)
    let rows = try shown.lines.map { try jsonObject($0) }
    #expect(rows.compactMap { $0["name"] as? String } == names)
    #expect(rows.first?["asked"] as? Int == asked)
  }

  @Test("marks names that were counted together")
  func manyNames() throws {
    try journal.append(
      (0..<520).map { (Self.start + 9 * Self.minute, MadeJournal.verdict("a\($0).shouldB")) })
    let shown = try log(["--summary"])
    #expect(shown.status == 0)
    #expect(shown.lines.last == "524 verdicts.")
    #expect(shown.lines.dropLast().last?.hasPrefix("(other names) ") == true)
    #expect(
      shown.errors
        == "tribunectl: verdicts under more than 512 names: later names are counted together; give a NAME or a time "
        + "for fewer\n")
  }

  @Test("lists the units that vetoed if the selected one did not")
  func otherUnits() throws {
    let units = "The journal has vetoes by these units:\n  backup.service\n  update.service\n"
    try log(["--by=backup"]).expect(0, output: "No verdicts.\n" + units, errors: "")
    try log(["--by=backup", "--summary"]).expect(0, output: "No verdicts.\n" + units, errors: "")
    try log(["--by=backup", "--no-legend"]).expect(0, output: "", errors: "")
    let peaceful = try MadeJournal([(Self.start, MadeJournal.verdict("a.shouldB"))])
    let shown = try TestBus.tribunectl(
      ["log", "--by=a.service", "--directory=\(peaceful.directory)"], address: "unix:/nowhere")
    shown.expect(0, output: "No verdicts.\nThe journal has no veto by a unit.\n", errors: "")
  }
}

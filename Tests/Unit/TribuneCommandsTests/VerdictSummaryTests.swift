// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON

@testable import TribuneCommands

@Suite("A summary of verdicts", .timeLimit(.minutes(15)))
struct VerdictSummaryTests {
  private static func outcome(_ kind: String, label: String = "", unit: String = "", user: String = "")
    -> String
  {
    """
    {"delegate":5,"label":"\(label)","outcome":"\(kind)","process":"","systemUnit":"\(unit)","userUnit":"\(user)"}
    """
  }

  private static func veto(_ unit: String) -> String { outcome("vetoed", label: "x", unit: unit) }

  private static func verdict(
    _ name: String, _ word: String = "allowed", outcomes: [String] = [], vetoedBy: [String] = [],
    unit: String = "tribuned.service", also more: [String: String] = [:]
  ) throws -> LoggedVerdict {
    let fields = [
      "TRIBUNE_NAME": [name], "TRIBUNE_VERDICT": [word], "_SYSTEMD_UNIT": [unit],
      "TRIBUNE_VETOED_BY": vetoedBy,
      "TRIBUNE_OUTCOMES": ["[\(outcomes.joined(separator: ","))]"],
    ].merging(more.mapValues { [$0] }) { $1 }
    return try #require(LoggedVerdict(JournalReader.Entry(time: 1, fields: fields)))
  }

  private static func summary(_ verdicts: [LoggedVerdict]) -> VerdictSummary {
    var summary = VerdictSummary()
    for verdict in verdicts { summary.add(verdict) }
    return summary
  }

  private static func lines(_ summary: VerdictSummary) throws -> [Substring] {
    try makeContext().text(of: summary.table).split(separator: "\n")
  }

  @Test("counts by name, the most vetoed first, and names the busiest vetoers, in 80 columns")
  func table() throws {
    let vetoed = try (1...3).map { number in
      try Self.verdict(
        "host.shouldReboot", "vetoed",
        outcomes: [Self.veto("backup.service")] + (number == 1 ? [Self.outcome("held", label: "admin")] : []),
        also: ["TRIBUNE_ELAPSED_USEC": "\(number * 1_500_000)"])
    }
    let allowed = try ["backup.shouldPrune", "backup.shouldPrune", "host.shouldReboot"].map {
      try Self.verdict($0)
    }
    let lines = try Self.lines(Self.summary(allowed + vetoed))
    #expect(
      lines == [
        "NAME                MEDIAN     P99  LONGEST  ASKED  ALLOWED  VETOED",
        "host.shouldReboot   2.949s  4.500s   4.500s      4        1       3",
        "  backup.service                                                  3",
        "  \"admin\"                                                         1",
        "backup.shouldPrune       -       -        -      2        2       0",
      ])
    #expect(lines.allSatisfy { $0.count <= 80 })
  }

  @Test(
    "names a vetoer by its unit, or by its label",
    arguments: [
      ([veto("a.service")], [], ["a.service"]), ([outcome("held", unit: "a.service")], [], ["a.service"]),
      ([veto("a.service"), veto("a.service")], [], ["a.service"]),
      ([outcome("vetoed", label: "a.service")], [], ["\"a.service\""]),
      (
        [outcome("vetoed", unit: "user@1000.service", user: "a.service")], [],
        ["user@1000.service/a.service"]
      ),
      ([outcome("vetoed")], [], ["\"delegate 5\""]),
      (
        [outcome("approved", label: "a"), outcome("abstained", label: "b"), outcome("answered", label: "c")],
        ["a"], []
      ),
      ([outcome("timedOut", label: "a"), outcome("gone", label: "b")], ["b"], ["\"b\""]),
      ([outcome("failed", label: "a", unit: "a.service")], ["a"], ["a.service"]),
      (["{"], ["a"], []), (["5", "{}"], ["a"], []),
    ] as [(outcomes: [String], vetoedBy: [String], expected: [String])])
  func vetoers(outcomes: [String], vetoedBy: [String], expected: [String]) throws {
    let verdict = try Self.verdict("a.shouldB", "vetoed", outcomes: outcomes, vetoedBy: vetoedBy)
    let lines = try Self.lines(Self.summary([verdict]))
    #expect(lines.dropFirst(2).compactMap { $0.split(separator: " 1").first?.trimmed } == expected)
  }

  @Test(
    "matches the units of a vetoer",
    arguments: [
      ("a.service", "", "a.service", true), ("a.service", "", "a*", true),
      ("a.service", "", "?.service", true),
      ("a.service", "", "a", false), ("user@1.service", "b.service", "user@1.service", true),
      ("user@1.service", "b.service", "user@1.service/b*", true),
      ("user@1.service", "b.service", "b*", false),
      ("", "", "*", false),
    ])
  func units(system: String, user: String, glob: String, isIn: Bool) throws {
    let outcomes = [Self.outcome("vetoed", label: "a.service", unit: system, user: user)]
    let vetoers = try Self.verdict("a.shouldB", outcomes: outcomes).vetoers
    #expect(vetoers.map { $0.isIn(unit: glob) } == [isIn])
  }

  @Test("counts other users' entries separately, and overridden vetoes as allowed")
  func writers() throws {
    let other = try Self.verdict("a.shouldB", "vetoed", unit: "x.service", also: ["_UID": "65534"])
    let overridden = try Self.verdict(
      "a.shouldB", outcomes: [Self.veto("a.service")],
      also: ["TRIBUNE_OVERRIDE": "why", "TRIBUNE_ELAPSED_USEC": "350"])
    let summary = Self.summary([overridden, other])
    #expect(
      summary.json.map(\.compact) == [
        """
        {"name":"a.shouldB","writtenBy":"user 65534","asked":1,"allowed":0,"vetoed":1,"overridden":0,"vetoedBy":[],\
        "otherVetoes":0,"median":null,"p99":null,"longest":null}
        """,
        """
        {"name":"a.shouldB","writtenBy":null,"asked":1,"allowed":1,"vetoed":0,"overridden":1,\
        "vetoedBy":[{"unit":"a.service","label":"","count":1}],"otherVetoes":0,"median":0.000350,"p99":0.000350,\
        "longest":0.000350}
        """,
      ])
    #expect(try Self.lines(summary)[1].hasPrefix("a.shouldB (user 65534) "))
  }

  @Test("keeps the names of the bus separate, however many verdicts others write")
  func forged() throws {
    let forged = try (0..<VerdictSummary.namesMax + 5).map {
      try Self.verdict("a\($0).shouldB", "vetoed", unit: "x.service", also: ["_UID": "65534"])
    }
    let summary = Self.summary(forged + [try Self.verdict("host.shouldReboot", "vetoed")])
    let own = summary.json.map(\.compact).filter { $0.contains(#""writtenBy":null"#) }
    #expect(own.count == 1 && own[0].contains(#""name":"host.shouldReboot""#))
    let last = try #require(summary.json.last?.compact)
    #expect(last.hasPrefix(#"{"name":null,"writtenBy":"other users","asked":5,"#))
  }

  @Test("counts any number of names and vetoers in bounded memory, and reports that")
  func bounds() throws {
    let names = (0..<VerdictSummary.namesMax + 5).map { "a\($0).shouldB" }
    let many = Self.summary(try (names + names.suffix(1)).map { try Self.verdict($0, "vetoed") })
    #expect(many.json.count == VerdictSummary.namesMax + 1)
    #expect(many.json.last?.compact.hasPrefix(#"{"name":null,"writtenBy":null,"asked":6,"#) == true)
    #expect(try Self.lines(many).last?.hasPrefix("(other names) ") == true)

    let vetoers = VerdictCounts.vetoersMax
    let crowd = try (0..<vetoers + 3).map {
      try Self.verdict("a.shouldB", "vetoed", outcomes: [Self.veto("a\($0).service")])
    }
    let lines = try Self.lines(Self.summary(crowd))
    #expect(lines.count == 2 + vetoers + 1)
    #expect(lines.last?.split(separator: " ") == ["(others)", "3"])
  }

  @Test(
    "counts vetoes that an entry omits, and does not trust its numbers",
    arguments: [
      ("70", [6, 12]), ("64", [0, 0]), ("-1", [0, 0]), ("x", [0, 0]),
      ("\(Int.max)", [Int.max - 64, Int.max]),
      ("99999999999999999999", [0, 0]),
    ])
  func unlisted(count: String, expected: [Int]) throws {
    var counts = VerdictCounts()
    for total in expected {
      counts.add(
        try Self.verdict("a.shouldB", also: ["TRIBUNE_VETOES": count, "TRIBUNE_ELAPSED_USEC": "-\(count)"]))
      #expect(counts.otherVetoes == total)
    }
    #expect(counts.spans == [nil, nil, nil])
  }

  @Test("keeps a bounded part of long texts")
  func longTexts() throws {
    let label = String(repeating: "x", count: 100_000)
    let verdict = try Self.verdict("a.shouldB", "vetoed", outcomes: [Self.outcome("vetoed", label: label)])
    #expect(verdict.vetoers.map(\.text.utf8.count) == [602])
  }
}

extension Substring {
  fileprivate var trimmed: String { split(separator: " ").joined(separator: " ") }
}

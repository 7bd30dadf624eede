// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneSystem

@testable import Tribune
@testable import TribuneCommands

@Suite("Output", .timeLimit(.minutes(15)))
struct OutputTests {
  private static let verdict = Verdict(
    .vetoed, query: 7,
    outcomes: [
      Outcome(
        delegate: 3, label: "restore", kind: .vetoed, reason: "a restore\nruns\u{1B}[2J", pid: 42, uid: 1000,
        process: "restore.sh", units: Units(system: "backup.service"), elapsed: .microseconds(1500)),
      Outcome(
        delegate: 4, label: "", kind: .approved, reason: "", pid: 43, uid: 0, process: "", units: Units(),
        elapsed: .seconds(2)),
    ])

  @Test("a template's gap is not a line")
  func gaps() throws {
    let template = try makeContext(["observe", "a", "-o", "{name}"])
    let json = try makeContext(["observe", "a", "-j"])
    for gap in [Delivery.lost(7), .interrupted] {
      #expect(template.reportGap(gap))
      #expect(!json.reportGap(gap))
    }
  }

  @Test("columns are as wide as their widest cells, and an empty cell is a dash")
  func table() {
    var table = Table(["NAME", .number("N"), "LAST"])
    #expect(table.text(hasHeader: true, isColoured: false) == "")
    table.append(["long name", "1", "x"])
    table.append(["é", "100", ""])
    #expect(
      table.text(hasHeader: true, isColoured: false)
        == "NAME         N  LAST\nlong name    1  x\né          100  -\n")
    #expect(table.text(hasHeader: false, isColoured: false) == "long name    1  x\né          100  -\n")
  }

  @Test("colours do not count in the width, and cells are escaped")
  func colouredTable() {
    var table = Table(["A", "B"])
    table.append(["\u{1B}]", "x"], styles: ["A": .red])
    #expect(table.text(hasHeader: false, isColoured: true) == "\u{1B}[31m\\u{1b}]\u{1B}[0m  x\n")
  }

  @Test(
    "in a narrow terminal, the widest texts are cut, then columns go by rank; numbers stay whole",
    arguments: [
      (nil, "a.very.long.name.of.it  100  unit/a.service   1,0  22"),
      (53, "a.very.long.name.o…  100  unit/a.service   1,0  22"),
      (46, "a.very.long.…  100  unit/a.servi…   1,0  22"),
      (43, "a.very.long.nam…  100  unit/a.service   1,0"),
      (36, "a.very.long.na…  100  unit/a.service"),
      (5, "a.very.long…  100  unit/a.serv…"),
    ] as [(Int?, String)])
  func narrowTable(limit: Int?, expected: String) {
    var table = Table(["NAME", .number("ID"), "WHERE", .number("LESS", rank: 1), .text("LEAST", rank: 2)])
    table.append(["a.very.long.name.of.it", "100", "unit/a.service", "1,0", "22"])
    let lines = table.text(hasHeader: true, isColoured: false, limit: limit).split(separator: "\n")
    #expect(lines.last ?? "" == expected)
    #expect(lines.count == 2 && lines.allSatisfy { $0.count <= max(limit ?? 80, 31) })
  }

  @Test("text is cut where its columns end, and characters that may be wide count as two")
  func cut() {
    #expect("abcdef".cut(toColumns: 6) == "abcdef" && "abcdef".cut(toColumns: 5) == "abcd…")
    #expect("日本語".cut(toColumns: 6) == "日本語" && "日本語".cut(toColumns: 5) == "日本…")
    #expect("日本語".cut(toColumns: 4) == "日…" && "a".cut(toColumns: 0) == "")
  }

  @Test(
    "a line of parts ends with the terminal",
    arguments: [(nil, "ab cdef gh"), (10, "ab cdef gh"), (9, "ab cdef …"), (6, "ab cd…"), (2, "ab")]
      as [(Int?, String)])
  func line(columns: Int?, expected: String) throws {
    let terminal = Terminal(isTerminal: columns != nil, columns: columns, isColoured: false)
    let context = try Context(try parsed(["list"]), terminal: terminal, signals: try SignalWatch([]))
    #expect(context.line([("ab", .plain), (" cdef", .bold), (" gh", .faint)]) == expected)
  }

  @Test(
    "colours are used if the terminal has them and no setting forbids them",
    arguments: [
      (["TERM": "xterm"], true), (["TERM": "dumb"], false), ([:], false),
      (["TERM": "xterm", "NO_COLOR": "1"], false), (["TERM": "xterm", "NO_COLOR": ""], true),
    ])
  func colours(environment: [String: String], expected: Bool) {
    #expect(Terminal.allowsColours(environment: { environment[$0] }) == expected)
  }

  @Test("a verdict has the decision, then an escaped line for each outcome")
  func verdict() throws {
    #expect(
      Self.verdict.text(of: "a.shouldB", object: "x/1", in: try makeContext()) == """
        vetoed: a.shouldB x/1
          vetoed    restore (restore.sh, pid 42, uid 1000, backup.service): a restore\\nruns\\u{1b}[2J  [1ms]
          approved  delegate 4 (pid 43, uid 0)  [2s]

        """)
  }

  @Test("a verdict shows a user's unit beside the system's")
  func userUnit() throws {
    let veto = Outcome(
      delegate: 3, kind: .vetoed, pid: 42, uid: 34,
      units: Units(system: "user@34.service", user: "restore.service"))
    let verdict = Verdict(.vetoed, query: 7, outcomes: [veto])
    let people = "delegate 3 (pid 42, uid 34, user@34.service/restore.service)"
    #expect(
      try verdict.text(of: "a", object: "", in: makeContext()) == "vetoed: a\n  vetoed    \(people)\n")
    #expect(
      verdict.json.compact.contains(
        #","unit":"user@34.service","systemUnit":"user@34.service","userUnit":"restore.service","#))
  }

  @Test("a verdict counts the outcomes that the bus did not list")
  func omitted() throws {
    let verdict = Verdict(.vetoed, query: 7, outcomes: [Self.veto], omittedCount: 1008)
    let text = verdict.text(of: "a", object: "", in: try makeContext())
    #expect(text == "vetoed: a\n  vetoed    delegate 5 (pid 44, uid 0)\n  and 1008 more\n")
    #expect(verdict.json.compact.contains(#"}],"outcomesOmitted":1008,"unanswered":false,"#))
  }

  private static let failure = Outcome(delegate: 3, kind: .timedOut, pid: 42, elapsed: .seconds(5))
  private static let otherFailure = Outcome(delegate: 4, kind: .failed, reason: "broken", pid: 43)
  private static let veto = Outcome(delegate: 5, kind: .vetoed, pid: 44)
  private static let missing = Outcome(delegate: 0, label: "x", kind: .gone, reason: "required")
  private static let end = ", which counts as a veto"

  @Test(
    "a failure that must be the veto is shown as one",
    arguments: [
      (
        Verdict(.vetoed, query: 1, outcomes: [Outcome(delegate: 2, kind: .approved), failure]),
        ["vetoed: a", "delegate 2 (pid 0, uid 0)", "timedOut  delegate 3 (pid 42, uid 0)\(end)  [5s]"]
      ),
      (
        Verdict(.allowed, query: 1, outcomes: [otherFailure], isOverridden: true),
        ["allowed: a (overridden)", "failed    delegate 4 (pid 43, uid 0)\(end): broken"]
      ),
      (
        Verdict(.vetoed, query: 1, outcomes: [failure, otherFailure]),
        [
          "vetoed: a (at least one failure counts as a veto)", "delegate 3 (pid 42, uid 0)  [5s]",
          "delegate 4 (pid 43, uid 0): broken",
        ]
      ),
      (
        Verdict(.vetoed, query: 1, outcomes: [failure, veto]),
        ["vetoed: a", "(pid 42, uid 0)  [5s]", "(pid 44, uid 0)"]
      ),
      (
        Verdict(.vetoed, query: 1, outcomes: [missing, failure]),
        ["vetoed: a", "gone      x: required", "(pid 42, uid 0)  [5s]"]
      ),
      (
        Verdict(.vetoed, query: 1, isUnanswered: true, outcomes: [failure]),
        [
          "vetoed: a (no delegate approved or vetoed: Default=veto in tribuned.conf)",
          "(pid 42, uid 0)  [5s]",
        ]
      ),
    ] as [(Verdict, [String])])
  func vetoingFailures(verdict: Verdict, expected: [String]) throws {
    let lines = verdict.text(of: "a", object: "", in: try makeContext()).split(separator: "\n")
    #expect(lines.count == expected.count)
    for (line, end) in zip(lines, expected) { #expect(line.hasSuffix(end), "\(line)") }
  }

  @Test("a veto by default names the setting")
  func defaultVeto() throws {
    let verdict = Verdict(.vetoed, query: 1, isUnanswered: true, outcomes: [])
    let context = try makeContext()
    #expect(
      verdict.text(of: "a", object: "", default: .vetoed, in: context)
        == "vetoed: a (no delegate answered: --default=veto)\n")
    #expect(
      verdict.text(of: "a", object: "", in: context)
        == "vetoed: a (no delegate answered: Default=veto in tribuned.conf)\n")
  }

  @Test("a guard also shows a failure as the veto")
  func vetoingFailureOfGuard() {
    #expect(
      Self.otherFailure.plainLine(isVetoingFailure: true)
        == "failed by delegate 4 (pid 43, uid 0), which counts as a veto: broken")
    #expect(Self.veto.plainLine(isVetoingFailure: false) == "vetoed by delegate 5 (pid 44, uid 0)")
  }

  @Test("a verdict in JSON is one object a line, with the bare word of each outcome")
  func verdictJSON() {
    #expect(
      Self.verdict.json.compact
        == #"{"verdict":"vetoed","query":7,"outcomes":[{"delegate":3,"label":"restore","outcome":"vetoed","#
        + #""reason":"a restore\nruns\u001b[2J","pid":42,"uid":1000,"process":"restore.sh","#
        + #""unit":"backup.service","systemUnit":"backup.service","userUnit":"","elapsed":0.001500},{"delegate":4,"label":"","outcome":"approved","#
        + #""reason":"","pid":43,"uid":0,"process":"","unit":"","systemUnit":"","userUnit":"","elapsed":2}],"#
        + #""outcomesOmitted":0,"unanswered":false,"overridden":false,"dryRun":false}"#)
  }

  @Test("a notification is one line, whatever its userInfo")
  func notification() throws {
    let context = try makeContext()
    let cases: [(UserInfo, String)] = [
      ("{\n \"x\": 1\n}", "  {\"x\":1}"), (.none, ""), ("a\nb", "  a\\nb"),
      (UserInfo([0xFF]), "  (1 byte of binary data)"), ("{\"x\": 1}", "  {\"x\": 1}"),
    ]
    for (userInfo, end) in cases {
      let line = Notification("a.b", object: "", sender: ":4", userInfo: userInfo).line(in: context)
      #expect(line.hasSuffix("  :4  a.b  -\(end)"))
      #expect(line.split(separator: " ").first?.count == 12)
    }
  }

  @Test(
    "the end of a command is an answer",
    arguments: [
      (ChildProcess.Termination.exited(0), " yes ", "", Answer.approve),
      (.exited(1), "\n because\tof it \n", "x", .veto("because\tof it")), (.exited(1), "", "", .veto("")),
      (.exited(198), "x", "y", .abstain), (.exited(3), "no", "", .failed("exited with 3")),
      (.exited(127), "", "why\r\n  that \n\n", .failed("exited with 127: that")),
      (.killed(signal: 9), "", "1", .failed("was killed by signal 9: 1")),
    ])
  func commandAnswers(
    termination: ChildProcess.Termination, output: String, errors: String, answer: Answer
  ) {
    let ending = ChildProcess.Ending(
      termination: termination, output: Array(output.utf8), errors: Array(errors.utf8))
    #expect(CommandRunner.answer(for: ending) == answer)
  }

  @Test(
    "every status but three, and every signal, is a failure of the command",
    arguments: 2...255 as ClosedRange<Int32>)
  func failures(status: Int32) {
    for termination: ChildProcess.Termination in [.exited(status), .killed(signal: status)] {
      let answer = CommandRunner.answer(for: ChildProcess.Ending(termination: termination, output: []))
      let expected = termination == .exited(198) ? Answer.abstain : .failed(termination.formatted)
      #expect(answer == expected)
    }
  }

  @Test(
    "a command's output is a value if it is JSON and not too long",
    arguments: [
      (" {\"x\": 1}\n", .value(" {\"x\": 1}\n")), ("12", .value("12")),
      ("\"12345678901\"", .value("\"12345678901\"")),
      ("\"123456789012\"", .failed("the value is longer than the limit of 13 bytes")),
      ("", .failed("the value is not JSON: line 1, column 0: the text is empty")),
    ] as [(String, Answer)])
  func commandValues(output: String, answer: Answer) {
    #expect(CommandRunner.value(in: Array(output.utf8), upTo: 13) == answer)
  }

  @Test("a withdrawn question has its elapsed time and its timeout; an answered one has neither")
  func withdrawnQuestion() throws {
    let question = Question("a.b", timeout: .seconds(5))
    let elapsed = Duration.milliseconds(5_003)
    let late = question.line(with: nil, by: nil, after: elapsed, in: try makeContext())
    #expect(late.hasSuffix("  → withdrawn: no answer after 5.003s, of 5s"))
    let json = question.json(with: nil, by: nil, after: elapsed).compact
    #expect(json.contains(#""answer":"withdrawn","reason":"no answer after 5.003s, of 5s""#))
    let approved = question.line(with: .approve, by: nil, after: elapsed, in: try makeContext())
    #expect(approved.hasSuffix("  → approved"))
    #expect(question.json(with: .approve, by: nil, after: elapsed).compact.contains(#""reason":"""#))
  }

  @Test("an ending delegate starts no command")
  func endedDelegate() async throws {
    let runner = CommandRunner(in: try makeContext(["list", "--quiet"]), valueLength: 100)
    let command = ["sh", "-c", "exit 0"].map { Array($0.utf8) }
    #expect(await runner.answer(Question("a.b"), by: command) == .approve)
    await runner.stop()
    #expect(await runner.answer(Question("a.b"), by: command) == .failed("the delegate is shutting down"))
  }

  @Test(
    "--timeout limits the wait for the bus, but for a delegate the time of an answer",
    arguments: [
      (["list"], Duration.seconds(2)), (["ask", "a.b"], .seconds(2)),
      (["delegate", "a.b", "--approve"], .seconds(30)),
    ])
  func patience(verb: [String], expected: Duration) throws {
    #expect(try makeContext(verb + ["--timeout=2"]).timeout == expected)
  }
}

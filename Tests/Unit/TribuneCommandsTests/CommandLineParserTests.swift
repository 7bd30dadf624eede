// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneCommands

@Suite("The command line", .timeLimit(.minutes(15)))
struct CommandLineParserTests {
  private static func parse(_ line: [String]) throws -> CommandLineParser.Request {
    try CommandLineParser.parse(line.map { Array($0.utf8) })
  }

  private static func run(
    _ verb: VerbName, _ operands: [String], _ values: [Option: Invocation.Value] = [:]
  ) -> CommandLineParser.Request { .run(Invocation(verb: verb, operands: operands, values: values)) }

  private static let fiveSeconds = Invocation.Value.span(TimeSpan(microseconds: 5_000_000))
  private static let ask = run(.ask, ["a.b", "{}"], [.object: .text("x/1"), .timeout: fiveSeconds])
  private static let observe = run(.observe, ["a"], [.shortJSON: .flag, .quiet: .flag, .count: .number(3)])
  private static let delegate = Invocation(
    verb: .delegate, operands: ["a.b"], command: ["sh", "-c", "exit 1", "--veto=x"].map { Array($0.utf8) },
    values: [.exec: .flag])

  private static let requests: [(line: [String], request: CommandLineParser.Request)] = [
    (["--object=x/1", "--timeout=5", "ask", "a.b", "{}"], ask),
    (["ask", "--object", "x/1", "a.b", "--timeout", "5", "{}"], ask),
    (["ask", "a.b", "{}", "--timeout=5s", "--object=x/1"], ask),
    (["--timeout", "5", "ask", "a.b", "--object=x/1", "--", "{}"], ask),
    (["observe", "a", "-jqN3"], observe), (["observe", "-j", "-q", "-N", "3", "a"], observe),
    (["-qjN", "3", "observe", "a"], observe),
    (["delegate", "a", "--veto="], run(.delegate, ["a"], [.veto: .text("")])),
    (["delegate", "a", "--veto=--no"], run(.delegate, ["a"], [.veto: .text("--no")])),
    (["delegate", "a", "--order", "-5"], run(.delegate, ["a"], [.order: .number(-5)])),
    (["delegate", "a", "--veto=a=b"], run(.delegate, ["a"], [.veto: .text("a=b")])),
    (["post", "a.b", "--", "-5"], run(.post, ["a.b", "-5"])),
    (["delegate", "a.b", "--exec", "sh", "-c", "exit 1", "--veto=x"], .run(delegate)),
    (["delegate", "a.b", "--exec", "--", "sh", "-c", "exit 1", "--veto=x"], .run(delegate)),
    (["post", "--wait", "a"], run(.post, ["a"], [.wait: .flag])),
    (["post", "a", "5", "--wait"], run(.post, ["a", "5"], [.wait: .flag])),
    (["post", "a", "--wait=5s"], run(.post, ["a"], [.wait: fiveSeconds])),
    (["--if-unreachable=run", "hold", "a"], run(.hold, ["a"], [.ifUnreachable: .text("run")])),
    (["--reconnect=infinity", "list"], run(.list, [], [.reconnect: .flag])),
    (["--help"], .help(nil)), (["-h"], .help(nil)), (["ask", "--help"], .help(.ask)),
    (["--help", "observe"], .help(.observe)), (["--version"], .version), (["post", "--version"], .version),
    (["version"], run(.version, [])),
  ]

  @Test("a valid line is parsed", arguments: requests)
  func right(line: [String], request: CommandLineParser.Request) throws {
    #expect(try Self.parse(line) == request)
  }

  @Test("a command is taken unchanged, with options, dashes and odd bytes")
  func commands() throws {
    let odd: [UInt8] = [0x66, 0xFF]
    let line =
      ["guard", "a.b", "--object=x", "--", "rm", "--", "-q", "--object=y"].map { Array($0.utf8) } + [odd]
    guard case .run(let invocation) = try CommandLineParser.parse(line) else {
      Issue.record("no verb runs")
      return
    }
    #expect(invocation.command == ["rm", "--", "-q", "--object=y"].map { Array($0.utf8) } + [odd])
    #expect(invocation.values == [.object: .text("x")])
  }

  @Test(
    "an error names the mistake",
    arguments: [
      ([], "a verb is missing"), (["frobnicate"], "unknown verb \"frobnicate\""),
      (["--frob", "ask", "a"], "--frob"), (["ask"], "ask needs NAME [JSON]"),
      (["ask", "a", "{}", "more"], "\"more\""), (["list", "x"], "no operands"),
      (["lst"], "unknown verb \"lst\" (did you mean list?)"),
      (["observe", "a", "--retaned"], "unknown option --retaned (did you mean --retained?)"),
      (["list", "--retaned"], "unknown option --retaned (did you mean --retained?)"),
      (["list", "--retain"], "list has no option --retain (did you mean --retained?)"),
      (["--if-unreachable=run", "ask", "a"], "one of fail, allow, veto, not \"run\""),
      (["list", "--timeout=infinity"], "must be finite"),
      (["ask", "a", "--mode=ordr"], "not \"ordr\" (did you mean order?)"),
      (["post", "a", "--coalesce=name,objct"], "not \"objct\" (did you mean object?)"),
      (["ask", "a", "--objekt=o"], "unknown option --objekt (did you mean --object?)"),
      (["ask", "a", "-x"], "unknown option -x"), (["ask", "a", "--mode"], "--mode needs a value"),
      (["ask", "a", "--mode=some"], "one of parallel, all, order, not \"some\""),
      (["ask", "a", "--mode="], "not \"\""), (["post", "a", "--mode=all"], "post has no option --mode"),
      (["list", "--object=x"], "list has no option --object"),
      (["list", "--quiet=yes"], "--quiet takes no value"), (["observe", "a", "-N", "0"], "at least 1"),
      (["observe", "a", "-N", "x"], "needs a number"),
      (["observe", "a", "-N", "99999999999999999999"], "needs a number"),
      (["delegate", "a", "--order=2147483648"], "-2147483648 to 2147483647"),
      (["ask", "a", "--timeout=5x"], "unknown unit"), (["ask", "a", "--timeout="], "empty"),
      (["delegate", "a", "--exec"], "--exec needs a command"), (["delegate", "a", "--exec=sh"], "without ="),
      (["guard", "a.b"], "needs a command after --"), (["guard", "a.b", "--"], "needs a command after --"),
      (["guard", "a.b", "{}", "true"], "the command follows --"),
      (["guard", "--", "true"], "guard needs ACTION"),
      (["guard", "a", "--veto-exit-code=256", "--", "x"], "0 to 255"),
      (["post", "a", "--wait=soon"], "--wait: "), (["post", "a", "--wait="], "empty"),
      (["post", "a", "--wait", "5"], "the value of --wait follows =: --wait=5"),
      (["delegate", "a", "--veto=1", "--veto=2"], "--veto is given twice"),
      (["observe", "a", "-N1", "-N", "2"], "-N is given twice"),
      (["post", "a", "--coalesce="], "list of name and object, not \"\""),
      (["post", "a", "--coalesce=name,"], "not \"\""), (["post", "a", "--coalesce=all"], "not \"all\""),
      (["post", "a", "--coalesce"], "--coalesce needs a value: --coalesce=name,object"),
      (["ask", "a", "--override", "--dry-run"], "--override needs a value: --override=WHY, also for"),
      (["hold", "a", "--why", "-q"], "--why needs a value"),
      (["guard", "a.b", "--override", "--", "echo"], "--override needs a value"),
      (["post", "a", "--style=later"], "one of now, asap, idle"), (["post", "a", "--retain=x"], "no value"),
      (["observe", "a", "--suspension=never"], "one of coalesce, drop, hold, immediately"),
      (["observe", "a", "--exec"], "--exec needs a command"),
      (["observe", "a", "--exec", "--"], "--exec needs a command"),
      (
        ["observe", "a", "--exec", "-N", "1", "true"],
        "-N follows --exec, where the command begins. "
          + "Options come first: tribunectl observe [OPTION…] PATTERN… --exec CMD…"
      ),
      (["delegate", "a", "--exec", "--label=x", "--", "true"], "delegate [OPTION…] NAME… --exec CMD…"),
      (["guard", "a.b", "--", "--dry-run", "true"], "guard [OPTION…] ACTION [JSON] -- CMD…"),
      (["hold", "--", "--", "true"], "hold [OPTION…] [NAME…] -- CMD…"),
      (["observe", "a", "--wait"], "observe has no option --wait"),
      (["status", "--retained"], "status has no option --retained"),
      (["\u{1B}[2J"], "\\u{1b}[2J"), (["ask", "a", "--\u{1B}"], "--\\u{1b}"),
      (["--exec", "ask"], "a verb is missing"),
    ])
  func usageErrors(line: [String], reason: String) {
    let error = #expect(throws: CommandLineParser.UsageError.self) { _ = try Self.parse(line) }
    #expect(error?.message.contains(reason) == true)
  }

  @Test("a list's words are separated by commas, in any order")
  func lists() throws {
    for text in ["name", "object", "object,name", "name,name"] {
      let words = text.split(separator: ",").map { String($0) }
      #expect(try parsed(["post", "a", "--coalesce=\(text)"]).words(.coalesce) == words)
      #expect(try parsed(["post", "a", "--coalesce", text]).words(.coalesce) == words)
    }
  }

  @Test("text that is not UTF-8 is refused")
  func notText() {
    #expect(throws: CommandLineParser.UsageError.self) {
      try CommandLineParser.parse([Array("post".utf8), Array("a.b".utf8), [0x22, 0xFF, 0x22]])
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

@Suite("tribunectl asks and answers", .timeLimit(.minutes(15)))
struct AskingCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test("without a delegate, the verdict is the default, comes at once, and says so")
  func nobody() throws {
    let allowed = try bus.tribunectl("ask", "a.shouldB", "--object=x")
    allowed.expect(0, output: "allowed: a.shouldB x (no delegate answered)\n")
    let vetoed = try bus.tribunectl("ask", "a.shouldB", "--default=veto", "-j")
    #expect(vetoed.status == 1)
    let verdict = try vetoed.object()
    #expect(verdict["verdict"] as? String == "vetoed")
    #expect(verdict["query"] as? Int != nil)
    #expect(try vetoed.outcomes().isEmpty)
  }

  @Test("an asker who misspells a name, and only that asker, learns the name that it may mean")
  func misspelt() throws {
    let delegate = try bus.staying("delegate", "data.shouldPrune", "--veto=no")
    let hint = "tribunectl: data.shouldPurne may be misspelt: did you mean data.shouldPrune?\n"
    let asked = try bus.tribunectl("ask", "data.shouldPurne")
    asked.expect(0, output: "allowed: data.shouldPurne (no delegate answered)\n", errors: hint)
    try bus.tribunectl("ask", "data.shouldPurne", "-q").expect(0, output: "", errors: hint)
    let json = try bus.tribunectl("-j", "ask", "data.shouldPurne", "--dry-run")
    #expect(try json.object()["similarName"] as? String == "data.shouldPrune")
    try bus.tribunectl("guard", "data.purne", "--", "echo", "ran").expect(
      0, output: "ran\n",
      errors: "tribunectl: data.shouldPurne may be misspelt: did you mean data.shouldPrune?\n")
    let source = try bus.staying("delegate", "data.numberOfRows", "--exec", "echo", "2")
    try bus.tribunectl("query", "data.numberOfRow", "-q").expect(
      1, output: "",
      errors: hint.replacing("shouldPurne", with: "numberOfRow").replacing(
        "shouldPrune", with: "numberOfRows"))
    #expect(source.end(SIGTERM) == 0)
    let auditor = try bus.staying("delegate", "**", "--exec", "sh", "-c", "exit 198")
    try bus.tribunectl("ask", "data.shouldPurne", "-q").expect(0, output: "", errors: hint)
    #expect(auditor.end(SIGTERM) == 0)
    let waiting = try bus.start("ask", "data.shouldPurne", "--default=veto", "--wait-until-allowed")
    #expect(try waiting.errors.line() == String(hint.dropLast()))
    #expect(try waiting.errors.line()?.hasPrefix("waiting until ") == true)
    waiting.end(SIGTERM)
    #expect(delegate.end(SIGTERM) == 0)
    try bus.tribunectl("ask", "data.shouldPurne").expect(
      0, output: "allowed: data.shouldPurne (no delegate answered)\n", errors: "")
  }

  @Test("a veto is exit status 1, and the verdict names the delegate and its reason")
  func veto() throws {
    let delegate = try bus.staying(
      "delegate", "a.shouldB", "--veto=a restore \u{1B}[2Jruns", "--label=restore")
    let people = try bus.tribunectl("ask", "a.shouldB")
    #expect(people.status == 1)
    #expect(people.lines.first == "vetoed: a.shouldB")
    #expect(people.output.contains("vetoed    restore (tribunectl, pid \(delegate.pid), uid \(getuid())"))
    #expect(people.output.contains("): a restore \\u{1b}[2Jruns  ["))
    let outcome = try #require(try bus.tribunectl("ask", "a.shouldB", "--json=short").outcomes().first)
    #expect(outcome["reason"] as? String == "a restore \u{1B}[2Jruns")
    #expect(outcome["pid"] as? Int == Int(delegate.pid))
    #expect((outcome["elapsed"] as? Double).map { $0 >= 0 && $0 < 60 } == true)
    try bus.tribunectl("ask", "a.shouldB", "-q").expect(1, output: "", errors: "")
    #expect(delegate.end(SIGTERM) == 0)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test("with --mode=all, the verdict has every reason")
  func allReasons() throws {
    for way in [["--veto=one"], ["--approve"], ["--veto=two", "--order=-1"]] {
      try bus.staying(["delegate", "a.shouldB"] + way)
    }
    for (mode, reasons) in [("all", ["two", "one", ""]), ("order", ["two"])] {
      let outcomes = try bus.tribunectl("-j", "ask", "a.shouldB", "--mode=\(mode)").outcomes()
      #expect(outcomes.compactMap { $0["reason"] as? String } == reasons)
    }
  }

  @Test(
    "without a bus, nothing is allowed, posted or run, unless --if-unreachable allows it",
    arguments: [
      (["ask", "a.shouldB"], 255), (["ask", "a.shouldB", "--if-unreachable=fail"], 255),
      (["ask", "a.shouldB", "--if-unreachable=allow"], 0),
      (["ask", "a.shouldB", "--if-unreachable=veto"], 1),
      (["ask", "a.shouldB", "--wait-until-allowed", "--if-unreachable=fail"], 255),
      (["ask", "a.shouldB", "--wait-until-allowed", "--if-unreachable=allow"], 0),
      (["ask", "a.shouldB", "--wait-until-allowed", "--if-unreachable=veto"], 1),
      (["ask", "a..b", "--if-unreachable=allow"], 2), (["query", "a"], 255), (["post", "a", "--wait"], 255),
      (["guard", "a.b", "--", "echo", "ran"], 255),
      (["guard", "a.b", "--if-unreachable=veto", "--", "echo", "ran"], 77),
      (["guard", "a.b", "--if-unreachable=allow", "--dry-run", "--", "echo", "ran"], 0),
      (["hold", "a.shouldB", "--why=c", "--", "echo", "ran"], 255),
      (["hold", "a.shouldB", "--why=c", "--if-unreachable=run"], 2),
      (["hold", "a.shouldB", "--why=c", "--if-unreachable=allow", "--", "echo", "ran"], 2),
    ] as [([String], Int32)])
  func unreachable(arguments: [String], status: Int32) throws {
    let result = try TestBus.tribunectl(arguments, address: "unix:/nonexistent/bus")
    #expect(result.errors.hasPrefix("tribunectl: "))
    #expect(!result.errors.contains("acknowledge"))
    result.expect(status, output: "")
  }

  @Test(
    "guard takes the options of ask; a dry run runs nothing; a veto has its status whatever happens to the output"
  )
  func guardOptions() throws {
    try bus.staying("hold", "a.shouldB", "--why=c")
    try bus.tribunectl("guard", "a.b", "{}", "--override=urgent", "--", "echo", "ran").expect(
      0, output: "ran\n")
    let tried = try bus.tribunectl("guard", "a.b", "--dry-run", "--", "echo", "ran")
    #expect(tried.status == 77)
    #expect(tried.output.contains("vetoed") && !tried.output.contains("ran"))
    let vetoed = try bus.tribunectl("-j", "guard", "a.b", "--", "echo", "ran")
    #expect(vetoed.status == 77)
    #expect(try vetoed.object()["verdict"] as? String == "vetoed")
    for option in ["--json=short", "--dry-run"] {
      let full = try FinishedProgram(
        [
          "/bin/sh", "-c", "exec \"$0\" guard a.b \(option) -- echo ran >/dev/full",
          try Programs.path(of: "tribunectl"),
        ], environment: ["TRIBUNE_ADDRESS": bus.address])
      #expect(full.status == 77)
    }
  }

  @Test(
    "a verdict of --if-unreachable has all fields; guard prints it as ask does, unless it runs the command",
    arguments: [
      (["--if-unreachable=veto"], "vetoed"), (["--if-unreachable=allow", "--dry-run"], "allowed"),
      (["--if-unreachable=allow"], "allowed"),
    ])
  func unreachableGuard(options: [String], verdict: String) throws {
    let nowhere = "unix:/nonexistent/bus"
    let asked = try TestBus.tribunectl(["-j", "ask", "a.shouldB"] + options, address: nowhere)
    let (isDryRun, object) = (options.contains("--dry-run"), try asked.object())
    #expect(object["verdict"] as? String == verdict && object["unreachable"] as? Bool == true)
    let flags = ["unanswered", "overridden", "dryRun"].map { object[$0] as? Bool }
    #expect(flags == [true, false, isDryRun])
    let tried = try TestBus.tribunectl(
      ["-j", "guard", "a"] + options + ["--", "echo", "ran"], address: nowhere)
    tried.expect(
      verdict == "vetoed" ? 77 : 0, output: verdict == "allowed" && !isDryRun ? "ran\n" : asked.output)
  }

  @Test(
    "a bus that dies during an ask gives no verdict, and no asker waits for another one or runs a command",
    arguments: [
      ["--reconnect=1h", "ask", "a.shouldB"], ["ask", "a.shouldB", "--if-unreachable=allow"],
      ["ask", "a.shouldB", "--if-unreachable=veto"], ["guard", "a.b", "--", "echo", "ran"],
    ])
  func busBreaks(arguments: [String]) throws {
    let delegate = try bus.staying(
      "--reconnect=0", "delegate", "**", "--exec", "sh", "-c", "kill -KILL \(bus.pid); exec sleep 1000")
    let result = try TestBus.tribunectl(arguments, address: bus.address)
    result.expect(255, output: "")
    if arguments.first == "--reconnect=1h" {
      #expect(result.errors.contains("the outcome of this request is unknown"))
    }
    #expect(delegate.status() == 1)
  }

  @Test("a query of a delegate's command has the delegate's question as its parent")
  func parent() throws {
    let monitor = try bus.staying("-j", "monitor", "a.shouldBegin")
    let program = try Programs.path(of: "tribunectl")
    try bus.staying("delegate", "a.shouldEnd", "--exec", program, "ask", "a.shouldBegin")
    let outer = try #require(try bus.tribunectl("-j", "ask", "a.shouldEnd").object()["query"] as? Int)
    #expect(try monitor.output.object()["parent"] as? Int == outer)
    let junk = try bus.tribunectl("ask", "shouldX", environment: ["TRIBUNE_QUERY": "junk\u{1B}"])
    #expect(junk.status == 0)
    #expect(junk.errors.contains("$TRIBUNE_QUERY"))
  }

  @Test("a command receives the question")
  func question() throws {
    let script = """
      cat; echo; echo "$TRIBUNE_NAME|$TRIBUNE_OBJECT|$TRIBUNE_QUERY|$TRIBUNE_ASKER_UID|$TRIBUNE_ASKER_PROCESS"
      test -n "$TRIBUNE_ASKER_PID$TRIBUNE_ASKER_CONNECTION"; test "${TRIBUNE_ASKER_UNIT-unset}" != unset; exit 1
      """
    try bus.staying("delegate", "a.*", "--exec", "sh", "-c", script)
    let asked = try bus.tribunectl("-j", "ask", "a.shouldB", "{\"x\": [1]}", "--object=o/1")
    let reason = try #require(try asked.outcomes().first?["reason"] as? String)
    let query = try #require(try asked.object()["query"] as? Int)
    #expect(reason == "{\"x\": [1]}\na.shouldB|o/1|\(query)|\(getuid())|tribunectl")
  }

  @Test(
    "a broken command does not approve, and the verdict has its failure",
    arguments: [
      (
        "set -e; grep -q idle /nonexistent/file",
        "exited with 2: grep: /nonexistent/file: No such file or directory"
      ),
      ("echo starting >&2; if then", "exited with 2: sh: 1: Syntax error: "),
      ("tribunectl ask", "exited with 2: Try \"tribunectl help ask\"."),
      (
        "exec python3 -c 'import argparse; argparse.ArgumentParser().parse_args([\"--no\"])'",
        "exited with 2: -c: error: unrecognized arguments: --no"
      ),
      ("/nonexistent/tool", "exited with 127: sh: 1: /nonexistent/tool: not found"),
      ("exit 77", "exited with 77"), ("exit 255", "exited with 255"),
      ("echo why >&2; kill -SEGV $$", "was killed by signal 11: why"),
    ])
  func broken(script: String, reason: String) throws {
    let found = script.replacing("tribunectl", with: try Programs.path(of: "tribunectl"))
    let delegate = try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", found)
    let result = try bus.tribunectl("-j", "ask", "a.shouldB")
    #expect(result.status == 1)
    let outcome = try #require(try result.outcomes().first)
    #expect(outcome["outcome"] as? String == "failed")
    #expect((outcome["reason"] as? String)?.hasPrefix(reason) == true)
    #expect(delegate.end(SIGTERM) == 0)
    let end = reason.split(separator: ": ", maxSplits: 1).dropFirst().joined()
    let passed = try delegate.errors.rest()
    #expect(end.isEmpty || passed.contains(end))
  }

  @Test("a program of --concluded that is missing is refused at the start")
  func withoutConcluding() throws {
    let result = try bus.tribunectl("delegate", "a.shouldB", "--concluded=/nonexistent", "--exec", "true")
    result.expect(
      127, output: "", errors: "tribunectl: /nonexistent cannot be run: No such file or directory\n")
  }

  @Test("with --on-failure=abstain, a command that was removed does not veto")
  func failurePolicy() throws {
    try bus.folder.write("#!/bin/sh\n", to: "command", mode: 0o755)
    let command = "\(bus.folder.path)/command"
    let delegate = try bus.staying("delegate", "a.shouldB", "--on-failure=abstain", "--exec", command)
    try FileManager.default.removeItem(atPath: command)
    let result = try bus.tribunectl("-j", "ask", "a.shouldB")
    #expect(result.status == 0)
    #expect(try result.outcomes().first?["outcome"] as? String == "failed")
    #expect(try delegate.errors.line()?.contains("cannot be run: No such file") == true)
  }

  @Test(
    "a verb with a missing command does nothing, and names the command",
    arguments: [
      ["delegate", "a.shouldB", "--exec"], ["observe", "a", "--exec"], ["guard", "a.b", "--"],
      ["hold", "a.shouldB", "--why=c", "--"], ["lease", "a", "--"],
      ["post", "a", "--bound", "--exec"],
    ])
  func withoutCommand(verb: [String]) throws {
    let monitor = try bus.staying("-j", "monitor", "a", "a.*", "cluster.**", "end")
    try bus.folder.write("#!/nonexistent\n", to: "script", mode: 0o755)
    for (command, status, reason) in [
      ("/nonexistent", 127, "No such file or directory"), ("nonexistent", 127, " in PATH, "),
      ("/etc/passwd", 126, "Permission denied"), ("/", 126, "Permission denied"),
      ("\(bus.folder.path)/script", 127, "its interpreter does not exist"),
    ] as [(String, Int32, String)] {
      let result = try TestBus.tribunectl(verb + [command], address: bus.address)
      result.expect(status, output: "")
      #expect(result.errors.hasPrefix("tribunectl: \(command) cannot be run: "))
      #expect(result.errors.contains(reason))
    }
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(try monitor.output.object()["name"] as? String == "end")
  }

  @Test("a command's answer does not wait for a reader of its standard error")
  func unreadErrors() throws {
    let delegate = try bus.staying(
      "delegate", "a.shouldB", "--timeout=1min", "--exec", "sh", "-c",
      "head -c 3000000 /dev/zero >&2; echo no; exit 1")
    for _ in 1...2 {
      let result = try bus.tribunectl("-j", "ask", "a.shouldB")
      #expect(try result.outcomes().first?["reason"] as? String == "no")
    }
    #expect(delegate.end(SIGTERM) == 0)
  }

  @Test(
    "a slow command is ended and its question times out, however the command ends",
    arguments: [
      "trap '' TERM; exec sleep 1000", "exec sleep 1000", "trap 'exit 0' TERM; sleep 1000 & wait",
    ])
  func slowCommand(script: String) throws {
    let delegate = try bus.staying("delegate", "a.shouldB", "--timeout=100ms", "--exec", "sh", "-c", script)
    let result = try bus.tribunectl("-j", "ask", "a.shouldB")
    #expect(result.status == 1)
    #expect(try result.outcomes().first?["outcome"] as? String == "timedOut")
    #expect(try delegate.output.line()?.contains("→ ") == true)
  }

  @Test("a delegate that defers without end does not fill the asker's log")
  func deferrals() throws {
    let delegate = try RawClient.greeted(bus)
    try delegate.attach(Attach(patterns: ["a.shouldB"]), serial: 1)
    let asking = try bus.start("ask", "a.shouldB")
    let question = try delegate.nextQuestion().question
    for serial in 2...100 as ClosedRange<Serial> {
      try delegate.send(
        Defer(query: question.query, delegate: question.delegate, extension: 60_000), serial: serial,
        text: "still at it")
    }
    try delegate.answer(question, .approve)
    #expect(asking.status() == 0)
    let lines = try asking.errors.rest().split(separator: "\n")
    #expect((20..<99).contains(lines.count))
  }

  @Test("a command that defers may take longer than the delegate's timeout, and its asker learns why")
  func deferringCommand() throws {
    let gate = try ShellGate()
    try bus.staying(
      "delegate", "a.shouldB", "--timeout=1s", "--exec", "sh", "-c",
      "\(try Programs.path(of: "tribunectl")) defer $TRIBUNE_QUERY 50s --status='half done'; \(gate.wait)")
    let silent = try bus.staying(
      "delegate", "a.shouldB", "--timeout=2s", "--on-failure=abstain", "--exec", "sleep", "1000")
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(deadline: 55_000, flags: .wantsProgress), serial: 1, name: "a.shouldB")
    // When the second delegate times out, the first is past its own timeout.
    var statuses: [String] = []
    while case let frame = try asker.next(.progress), try frame.decode(Progress.self).stage != .settled {
      statuses.append(frame.payload)
    }
    #expect(statuses.contains("half done"))
    try gate.open()
    let verdict = try asker.next(.verdict).decode(Verdict.self)
    #expect(verdict.outcomes.map(\.outcome) == [.approved, .timedOut])
    #expect(try silent.output.line()?.contains("→ ") == true)
  }

  @Test("a command is ended when its question is withdrawn")
  func withdrawn() throws {
    let delegate = try bus.staying(
      "-j", "delegate", "a.shouldB", "--timeout=1h", "--exec", "sh", "-c", "echo started >&2; exec sleep 1000"
    )
    let asker = try bus.start("ask", "a.shouldB")
    #expect(try delegate.errors.line() == "started")
    asker.signal(SIGKILL)
    #expect(try delegate.output.line()?.contains("\"answer\":\"withdrawn\"") == true)
  }

  @Test("a delegate that ends takes its commands with it", arguments: [SIGTERM, SIGHUP])
  func endsWithCommands(signal: CInt) throws {
    let delegate = try bus.staying(
      "delegate", "a.shouldB", "--exec", "sh", "-c", "echo started >&2; sleep 1000; echo late >&2")
    let asker = try bus.start("ask", "a.shouldB")
    #expect(try delegate.errors.line() == "started")
    #expect(delegate.end(signal) == 0)
    #expect(try delegate.errors.rest() == "")
    #expect(asker.status() == 1)
  }

  @Test("a delegate that cannot print its answers goes on answering, and reports that once")
  func fullDisk() throws {
    let delegate = try RunningProgram([
      "/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", try Programs.path(of: "tribunectl"),
      "--address=\(bus.address)", "delegate", "a.shouldB", "--veto=no",
    ])
    #expect(try delegate.errors.line()?.hasPrefix("attached ") == true)
    for _ in 1...2 { #expect(try bus.tribunectl("ask", "a.shouldB").status == 1) }
    #expect(delegate.end(SIGTERM) == 0)
    #expect(
      try delegate.errors.rest()
        == "tribunectl: answers are no longer shown: standard output: No space left on device\n")
  }
}

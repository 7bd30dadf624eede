// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

/// tribunectl asks and answers, against the real daemon.
@Suite("tribunectl asks and answers", .timeLimit(.minutes(2)))
struct AskingCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static func outcomes(_ verdict: [String: Any]) throws -> [[String: Any]] {
    try #require(verdict["outcomes"] as? [[String: Any]])
  }

  // MARK: ask

  @Test("nobody there means the default, at once, and the verdict says so")
  func nobody() throws {
    let allowed = try bus.tribunectl("ask", "a.shouldB", "--object=x")
    #expect(allowed.status == 0)
    #expect(allowed.output == "allowed: a.shouldB x (nobody was there to answer)\n")
    let vetoed = try bus.tribunectl("ask", "a.shouldB", "--default=veto", "-j")
    #expect(vetoed.status == 1)
    let verdict = try vetoed.object()
    #expect(verdict["verdict"] as? String == "vetoed")
    #expect(verdict["query"] as? Int != nil)
    #expect(try Self.outcomes(verdict).isEmpty)
  }

  @Test("a veto is exit status 1, with who said it and why")
  func veto() throws {
    let delegate = try bus.staying(
      "delegate", "a.shouldB", "--veto=a restore \u{1B}[2Jruns", "--label=restore")
    let people = try bus.tribunectl("ask", "a.shouldB")
    #expect(people.status == 1)
    #expect(people.lines.first == "vetoed: a.shouldB")
    #expect(people.output.contains("vetoed    restore (tribunectl, pid \(delegate.pid), uid \(getuid())"))
    #expect(people.output.contains("): a restore \\u{1b}[2Jruns  ["))
    let outcome = try #require(
      Self.outcomes(try bus.tribunectl("ask", "a.shouldB", "--json=short").object()).first)
    #expect(outcome["outcome"] as? String == "vetoed")
    #expect(outcome["reason"] as? String == "a restore \u{1B}[2Jruns")
    #expect(outcome["pid"] as? Int == Int(delegate.pid))
    #expect(outcome["uid"] as? Int == Int(getuid()))
    #expect(outcome["process"] as? String == "tribunectl")
    #expect(outcome["unit"] is String)
    #expect((outcome["elapsed"] as? Double).map { $0 >= 0 && $0 < 60 } == true)
    let quiet = try bus.tribunectl("ask", "a.shouldB", "-q")
    #expect(quiet.status == 1)
    #expect(quiet.output == "")
    #expect(quiet.errors == "")
    #expect(delegate.end(SIGTERM) == 0)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test("all reasons are waited for where they are asked for")
  func allReasons() throws {
    let delegates = [
      try bus.staying("delegate", "a", "--veto=one"), try bus.staying("delegate", "a", "--approve"),
      try bus.staying("delegate", "a", "--veto=two", "--order=-1"),
    ]
    let outcomes = try Self.outcomes(try bus.tribunectl("-j", "ask", "a", "--mode=all").object())
    #expect(outcomes.map { $0["reason"] as? String } == ["two", "one", ""])
    let inOrder = try Self.outcomes(try bus.tribunectl("-j", "ask", "a", "--mode=order").object())
    #expect(inOrder.map { $0["reason"] as? String } == ["two"])
    withExtendedLifetime(delegates) {}
  }

  @Test("without a bus there is no verdict, unless it was said what that means")
  func unreachable() throws {
    let nowhere = "unix:/nonexistent/bus"
    for (option, status): (String, Int32) in [("fail", 255), ("allow", 0), ("veto", 1)] {
      let result = try TestBus.tribunectl(["ask", "a", "--if-unreachable=\(option)"], address: nowhere)
      #expect(result.status == status)
      #expect(result.errors.hasPrefix("tribunectl: "))
      #expect(result.output == "")
    }
    #expect(try TestBus.tribunectl(["ask", "a"], address: nowhere).status == 255)
    #expect(try TestBus.tribunectl(["ask", "a..b", "--if-unreachable=allow"], address: nowhere).status == 2)
    let json = try TestBus.tribunectl(["-j", "ask", "a", "--if-unreachable=allow"], address: nowhere)
    #expect(try json.object()["verdict"] as? String == "allowed")
    // Whoever reads verdicts finds in it what the others have.
    #expect(try json.object()["unanswered"] as? Bool == true)
    #expect(try json.object()["overridden"] as? Bool == false)
    #expect(try json.object()["dryRun"] as? Bool == false)
  }

  @Test(
    "a bus that breaks while it is asked gives no verdict, whatever counts where there is none",
    arguments: ["fail", "allow", "veto"])
  func busBreaks(choice: String) throws {
    let delegate = try bus.staying(
      "--reconnect=0", "delegate", "a", "--exec", "sh", "-c", "kill -KILL \(bus.pid); exec sleep 1000")
    #expect(try bus.tribunectl("ask", "a", "--if-unreachable=\(choice)").status == 255)
    #expect(delegate.status() == 1)
  }

  @Test("a bus that does not answer is not waited for longer than was said")
  func silentBus() throws {
    bus.signal(SIGSTOP)
    let result = try bus.tribunectl("list", "--timeout=200ms")
    #expect(result.status == 1)
    #expect(result.errors.contains("200ms"))
    #expect(try bus.tribunectl("ask", "a", "--timeout=200ms").status == 255)
    #expect(try bus.tribunectl("ask", "a", "--timeout=200ms", "--if-unreachable=veto").status == 1)
    bus.signal(SIGCONT)
  }

  @Test("a deadline over the bus's limit is a refused query: no verdict")
  func longDeadline() throws {
    #expect(try bus.tribunectl("ask", "a", "--timeout=2h", "--if-unreachable=allow").status == 255)
  }

  @Test("under a delegate's command, that question is the parent")
  func parent() throws {
    let monitor = try bus.staying("-j", "monitor", "inner")
    let program = try Programs.path(of: "tribunectl")
    let delegate = try bus.staying("delegate", "outer", "--exec", program, "ask", "inner")
    let outer = try #require(try bus.tribunectl("-j", "ask", "outer").object()["query"] as? Int)
    let ask = try monitor.output.object()
    #expect(ask["parent"] as? Int == outer)
    withExtendedLifetime(delegate) {}
    let junk = try bus.tribunectl("ask", "x", environment: ["TRIBUNE_QUERY": "junk\u{1B}"])
    #expect(junk.status == 0)
    #expect(junk.errors.contains("$TRIBUNE_QUERY"))
  }

  // MARK: delegate --exec

  @Test("a command gets the question")
  func question() throws {
    let script = """
      cat; echo; echo "$TRIBUNE_NAME|$TRIBUNE_OBJECT|$TRIBUNE_QUERY|$TRIBUNE_ASKER_UID|$TRIBUNE_ASKER_PROCESS"
      test -n "$TRIBUNE_ASKER_PID$TRIBUNE_ASKER_CONNECTION"; test "${TRIBUNE_ASKER_UNIT-unset}" != unset; exit 1
      """
    let delegate = try bus.staying("delegate", "a.*", "--exec", "sh", "-c", script)
    let verdict = try bus.tribunectl("-j", "ask", "a.b", "{\"x\": [1]}", "--object=o/1").object()
    let reason = try #require(try Self.outcomes(verdict).first?["reason"] as? String)
    let query = try #require(verdict["query"] as? Int)
    #expect(reason == "{\"x\": [1]}\na.b|o/1|\(query)|\(getuid())|tribunectl")
    withExtendedLifetime(delegate) {}
  }

  @Test(
    "how a command ends is the answer",
    arguments: [
      ("exit 0", "approved", "", 0), ("echo '  no  '; exit 1", "vetoed", "no", 1),
      ("exit 2", "abstained", "", 0),
      ("echo oh; exit 3", "failed", "exited with 3: oh", 1),
      ("kill -9 $$", "failed", "was killed by signal 9", 1),
    ] as [(String, String, String, Int32)])
  func commandsEnd(script: String, outcome: String, reason: String, status: Int32) throws {
    let delegate = try bus.staying("-j", "delegate", "a", "--exec", "sh", "-c", script)
    let result = try bus.tribunectl("-j", "ask", "a")
    #expect(result.status == status)
    let got = try #require(try Self.outcomes(try result.object()).first)
    #expect(got["outcome"] as? String == outcome)
    #expect(got["reason"] as? String == reason)
    #expect(try delegate.output.line()?.contains("\"answer\":\"\(outcome)\"") == true)
  }

  @Test("a failing command is no opinion where the delegate says so")
  func failurePolicy() throws {
    let delegate = try bus.staying("delegate", "a", "--on-failure=abstain", "--exec", "/nonexistent/command")
    let result = try bus.tribunectl("-j", "ask", "a")
    #expect(result.status == 0)
    #expect(try Self.outcomes(try result.object()).first?["outcome"] as? String == "failed")
    #expect(try delegate.errors.line()?.contains("cannot be run: No such file") == true)
  }

  @Test(
    "a slow command is ended, and its question has timed out, whichever way it ends",
    arguments: [
      "trap '' TERM; exec sleep 1000", "exec sleep 1000", "trap 'exit 0' TERM; sleep 1000 & wait",
    ])
  func slowCommand(script: String) throws {
    let delegate = try bus.staying("delegate", "a", "--timeout=100ms", "--exec", "sh", "-c", script)
    let result = try bus.tribunectl("-j", "ask", "a")
    #expect(result.status == 1)
    #expect(try Self.outcomes(try result.object()).first?["outcome"] as? String == "timedOut")
    // The line comes when the command has ended.
    #expect(try delegate.output.line()?.contains("→ ") == true)
  }

  @Test("a command that defers may take longer than the delegate's timeout")
  func deferringCommand() throws {
    let gate = try ShellGate()
    let delegate = try bus.staying(
      "delegate", "a", "--timeout=1s", "--exec", "sh", "-c",
      "\(try Programs.path(of: "tribunectl")) defer $TRIBUNE_QUERY 50s; "
        + "\(gate.wait)")
    let silent = try bus.staying(
      "delegate", "a", "--timeout=2s", "--on-failure=abstain", "--exec", "sleep", "1000")
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(deadline: 55_000, flags: .tellsProgress), serial: 1, name: "a")
    // When the second is out of time, the first has long outlived its own.
    while try asker.next(.progress).decode(Progress.self).stage != .settled {}
    try gate.open()
    let verdict = try asker.next(.verdict).decode(Verdict.self)
    #expect(verdict.outcomes.map(\.outcome) == [.approved, .timedOut])
    // The line comes when the command has ended.
    #expect(try silent.output.line()?.contains("→ ") == true)
    withExtendedLifetime(delegate) {}
  }

  @Test("a command whose question is withdrawn is ended")
  func withdrawn() throws {
    let delegate = try bus.staying(
      "-j", "delegate", "a", "--timeout=1h", "--exec", "sh", "-c", "echo started >&2; exec sleep 1000")
    let asker = try bus.start("ask", "a")
    #expect(try delegate.errors.line() == "started")
    asker.signal(SIGKILL)
    #expect(try delegate.output.line()?.contains("\"answer\":\"withdrawn\"") == true)
  }

  @Test("a delegate that ends takes its commands with it", arguments: [SIGTERM, SIGHUP])
  func endsWithCommands(signal: CInt) throws {
    let delegate = try bus.staying(
      "delegate", "a", "--exec", "sh", "-c", "echo started >&2; sleep 1000; echo late >&2")
    let asker = try bus.start("ask", "a")
    #expect(try delegate.errors.line() == "started")
    #expect(delegate.end(signal) == 0)
    // All that held the other end of it has ended.
    #expect(try delegate.errors.rest() == "")
    #expect(asker.status() == 1)
  }

  @Test("a delegate whose answers cannot be written down goes on answering, and says so once")
  func fullDisk() throws {
    let delegate = try RunningProgram([
      "/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", try Programs.path(of: "tribunectl"),
      "--address=\(bus.address)", "delegate", "a", "--veto=no",
    ])
    #expect(try delegate.errors.line()?.hasPrefix("attached ") == true)
    for _ in 1...2 { #expect(try bus.tribunectl("ask", "a").status == 1) }
    #expect(delegate.end(SIGTERM) == 0)
    #expect(
      try delegate.errors.rest()
        == "tribunectl: answering goes on, unseen: standard output: No space left on device\n")
  }

  @Test("a delegate runs so many commands at a time, and fails what is asked beyond that")
  func tooManyCommands() throws {
    let delegate = try bus.staying("delegate", "a", "--timeout=1min", "--exec", "sleep", "1000")
    let asker = try RawClient.greeted(bus)
    for serial in 1...70 { try asker.send(Ask(), serial: Serial(serial), name: "a") }
    for _ in 1...6 {
      let outcomes = try asker.next(.verdict).decode(Verdict.self).outcomes
      #expect(outcomes.map(\.outcome) == [.failed])
      #expect(outcomes.map(\.reason) == ["64 commands run already"])
    }
    #expect(delegate.end(SIGTERM) == 0)
  }

  @Test("many questions at once are answered at once")
  func concurrent() throws {
    let gate = try ShellGate()
    let delegate = try bus.staying(
      "delegate", "a", "--timeout=1min", "--exec", "sh", "-c", "echo asked >&2; \(gate.wait)")
    let program = try Programs.path(of: "tribunectl")
    let askers = try (0..<5).map { _ in try RunningProgram([program, "--address=\(bus.address)", "ask", "a"])
    }
    for _ in askers { #expect(try delegate.errors.line() == "asked") }
    try gate.open()
    for asker in askers { #expect(asker.status() == 0) }
  }
}

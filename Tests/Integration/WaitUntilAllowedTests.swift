// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

@Suite("tribunectl waits until it is allowed", .timeLimit(.minutes(15)))
struct WaitUntilAllowedTests {
  private let folder: TestFolder
  private let bus: TestBus

  init() throws {
    folder = try TestFolder()
    bus = try TestBus(folder: folder)
  }

  private func waiting(
    _ options: String..., on bus: TestBus? = nil, vetoes: String...
  ) throws -> RunningProgram {
    let program = try (bus ?? self.bus).start(["ask", "a.shouldB", "--wait-until-allowed"] + options)
    try expectVetoes(vetoes, of: program)
    return program
  }

  private func expectVetoes(_ vetoes: [String], of program: RunningProgram) throws {
    #expect(try program.errors.line()?.hasPrefix("waiting until ") == true)
    for veto in vetoes {
      let line = try program.errors.line() ?? ""
      #expect(line.hasPrefix("  ") && line.contains(veto), "\(line)")
    }
  }

  private func expectAllowed(_ program: RunningProgram, _ rest: String = " (no delegate answered)\n") throws {
    #expect(try program.output.rest() == "allowed: a.shouldB\(rest)")
    #expect(program.status() == 0)
  }

  private func asked(on bus: TestBus? = nil) throws -> Int {
    try #require(try (bus ?? self.bus).tribunectl("-j", "status").object()["asked"] as? Int)
  }

  @Test(
    "a hold or delegate that ends, or whose process is killed, lets the asker continue",
    arguments: [
      (["hold", "a.*", "--why=a backup"], "held      "),
      (["delegate", "a.shouldB", "--veto=busy"], "vetoed    "),
    ], [SIGTERM, SIGKILL])
  func vetoEnds(veto: (command: [String], word: String), signal: CInt) throws {
    let vetoer = try bus.staying(veto.command + ["--label=backup"])
    let program = try waiting(
      vetoes: "\(veto.word)backup (tribunectl, pid \(vetoer.pid), uid \(getuid())")
    if veto.command[0] == "delegate" {
      #expect(try program.errors.line()?.hasPrefix("  asks again every 30s: ") == true)
    }
    vetoer.end(signal)
    try expectAllowed(program)
    #expect(try program.errors.rest() == "")
  }

  @Test("a delegate that vetoed and leaves has time to return", arguments: ["ask", "guard"])
  func delegateRestarts(verb: String) throws {
    let vetoer = try bus.staying("delegate", "a.shouldB", "--veto=busy")
    let isGuard = verb == "guard"
    let program = try bus.start(
      [verb, isGuard ? "a.b" : "a.shouldB", "--wait-until-allowed=3s"]
        + (isGuard ? ["--", "echo", "ran"] : [])
    )
    try expectVetoes([": busy"], of: program)
    vetoer.end(SIGTERM)
    #expect(program.status() == (isGuard ? 77 : 1))
    #expect(try !program.output.rest().contains("ran"))
  }

  @Test("a hold that expires lets the asker continue")
  func holdExpires() throws {
    try bus.staying("hold", "a.shouldB", "--why=a backup", "--expires=2s")
    try expectAllowed(try waiting(vetoes: ": a backup"))
  }

  @Test("a delegate that announces another answer is asked again")
  func delegateChangesItsMind() throws {
    try bus.staying(
      "delegate", "a.shouldB", "--label=backup", "--exec", "sh", "-c",
      "test -e '\(folder.path)/done' || { cat '\(folder.path)/state'; exit 1; }")
    try folder.write("40 %", to: "state")
    let program = try waiting(vetoes: ": 40 %", "asks again")
    try folder.write("80 %", to: "state")
    try bus.tribunectl("post", "a.mayB").expect(0)
    #expect(try program.errors.line()?.hasSuffix(": 80 %") == true)
    try folder.write("", to: "done")
    try bus.tribunectl("post", "a.mayB").expect(0)
    #expect(try program.output.line() == "allowed: a.shouldB")
    #expect(try program.output.line()?.hasPrefix("  approved  backup (") == true)
    #expect(program.status() == 0)
  }

  @Test(
    "a veto by a file of delegates.d, which announces nothing, is asked again", arguments: ["ask", "guard"])
  func recheck(verb: String) throws {
    let script = "d/a.shouldB/file"
    try folder.write("#!/bin/sh\ntest -e '\(folder.path)/done' || { echo busy; exit 1; }\n", to: script)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: "\(folder.path)/\(script)")
    try bus.staying("delegate", "--directory=\(folder.path)/d")
    let program = try bus.start(
      [verb, verb == "ask" ? "a.shouldB" : "a.b", "--wait-until-allowed", "--recheck=1s"]
        + (verb == "ask" ? [] : ["--", "true"]))
    try expectVetoes(
      [": busy", "asks again every 1s: these vetoes may end unannounced"], of: program)
    try folder.write("", to: "done")
    #expect(program.status() == 0)
  }

  @Test("a required delegate that attaches lets the asker continue")
  func requiredDelegate() throws {
    try bus.reload("[Query \"a.shouldB\"]\nRequireDelegate=label:judge\n")
    let program = try waiting(vetoes: "gone      label:judge: required, and not attached")
    try bus.staying("delegate", "a.shouldB", "--label=judge", "--approve")
    #expect(try program.output.line() == "allowed: a.shouldB")
    #expect(program.status() == 0)
  }

  @Test("a reload that removes a configured default lets the asker continue")
  func reload() throws {
    try bus.reload("[Query \"a.shouldB\"]\nDefault=veto\n")
    let program = try waiting(vetoes: "no delegate approved it: Default=veto in tribuned.conf")
    try bus.reload("")
    try expectAllowed(program)
  }

  @Test("the asker does not ask again without a change that concerns its question")
  func noPolling() throws {
    try bus.staying("hold", "a.shouldB", "--why=a backup", "--object=o")
    let program = try bus.start("ask", "a.shouldB", "--wait-until-allowed=2s", "--object=o")
    try expectVetoes([": a backup"], of: program)
    for options in [["a.shouldC", "--object=o"], ["a.shouldB", "--object=p"]] {
      try bus.staying(["hold", "--why=other"] + options).end(SIGTERM)
      try bus.staying(["delegate", "--veto=other"] + options).end(SIGTERM)
    }
    try bus.tribunectl("post", "a.mayC", "--object=o").expect(0)
    try bus.tribunectl("post", "a.mayB", "--object=p").expect(0)
    #expect(program.status() == 1)
    #expect(try asked() == 1)
  }

  @Test("a hold's new reason does not wake the asker", arguments: ["ask", "guard"])
  func newReason(verb: String) throws {
    let isGuard = verb == "guard"
    let holder = try RawClient.greeted(bus)
    try holder.sendConfirmed(Hold(), serial: 1, name: "a.shouldB", text: "at 20 %")
    let program = try bus.start(
      [verb, isGuard ? "a.b" : "a.shouldB", "--wait-until-allowed=2s"]
        + (isGuard ? ["--", "echo", "ran"] : []))
    try expectVetoes([": at 20 %"], of: program)
    try holder.sendConfirmed(Amend(target: 1), serial: 2, text: "at 40 %")
    #expect(program.status() == (isGuard ? 77 : 1))
    #expect(try !program.errors.rest().contains("40 %"))
    #expect(try !program.output.rest().contains("40 %"))
    #expect(try asked() == 1)
  }

  @Test("a veto that ends while the question is asked is not missed")
  func endsDuringAsk() throws {
    let gate = try ShellGate()
    let hold = try bus.staying("hold", "a.shouldB", "--why=a backup")
    try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", "echo asked >&2; \(gate.wait)")
    let delegate = try #require(bus.companions.last)
    let program = try bus.start("ask", "a.shouldB", "--wait-until-allowed")
    #expect(try delegate.errors.line() == "asked")
    hold.end(SIGTERM)
    try gate.open()
    try expectVetoes([": a backup"], of: program)
    #expect(try program.output.line() == "allowed: a.shouldB")
    #expect(program.status() == 0)
  }

  @Test("when the time is over, the last verdict counts")
  func timeIsOver() throws {
    let hold = try bus.staying("hold", "a.shouldB", "--why=a backup")
    let asked = try bus.tribunectl("ask", "a.shouldB", "--wait-until-allowed=100ms")
    #expect(asked.status == 1)
    #expect(asked.output.hasPrefix("vetoed: a.shouldB\n  held      "))
    #expect(asked.errors.hasPrefix("waiting until a.shouldB is allowed:\n  held      "))
    let guarded = try bus.tribunectl("guard", "a.b", "--wait-until-allowed=100ms", "--", "echo", "ran")
    guarded.expect(77, output: "")
    #expect(guarded.errors.contains("tribunectl: a.b was vetoed:\n  held by "))
    let quiet = try bus.tribunectl("-q", "ask", "a.shouldB", "--wait-until-allowed=100ms")
    quiet.expect(1, output: "", errors: "")
    withExtendedLifetime(hold) {}
  }

  @Test("when the time is over before the first verdict, delegates without an answer have failed")
  func timeIsOverAtFirst() throws {
    let gate = try ShellGate()
    try bus.staying("delegate", "a.shouldB", "--timeout=1min", "--exec", "sh", "-c", gate.wait)
    let asked = try bus.tribunectl("-j", "ask", "a.shouldB", "--wait-until-allowed=200ms")
    // Its command would keep the delegate alive.
    try gate.open()
    #expect(asked.status == 1)
    let last = try jsonObject(#require(asked.output.split(separator: "\n").last.map(String.init)))
    let outcome = try #require((last["outcomes"] as? [[String: Any]])?.first)
    #expect(outcome["outcome"] as? String == "timedOut")
    #expect(try #require(outcome["elapsed"] as? Double) < 5)
  }

  @Test("without a veto, the asker asks once")
  func allowedAtOnce() throws {
    try bus.tribunectl("ask", "a.shouldB", "--wait-until-allowed").expect(
      0, output: "allowed: a.shouldB (no delegate answered)\n", errors: "")
    #expect(try asked() == 1)
  }

  @Test("a signal ends a guard that waits, and nothing runs", arguments: [SIGINT, SIGTERM])
  func interrupted(signal: CInt) throws {
    let hold = try bus.staying("hold", "a.shouldB", "--why=a backup")
    let guarding = try bus.start("guard", "a.b", "--wait-until-allowed", "--", "echo", "ran")
    try expectVetoes([": a backup"], of: guarding)
    #expect(guarding.end(signal) == 128 + signal)
    #expect(try guarding.output.rest() == "")
    withExtendedLifetime(hold) {}
  }

  @Test("in JSON, each veto that the asker waits on is a line, and the last line is the result")
  func json() throws {
    let hold = try bus.staying("hold", "a.shouldB", "--why=a backup")
    let program = try bus.start("-j", "ask", "a.shouldB", "--wait-until-allowed")
    let first = try program.output.object()
    #expect(first["verdict"] as? String == "vetoed" && first["waiting"] as? Bool == true)
    let outcomes = try #require(first["outcomes"] as? [[String: Any]])
    #expect(outcomes.map { $0["reason"] as? String } == ["a backup"])
    #expect(outcomes.allSatisfy { ($0["age"] as? Double).map { $0 > 0 } == true })
    hold.end(SIGTERM)
    let last = try program.output.object()
    #expect(last["verdict"] as? String == "allowed" && last["waiting"] == nil)
    #expect(try program.output.rest() == "" && program.errors.rest() == "")
    #expect(program.status() == 0)
  }

  @Test("a guard runs its command when the hold ends")
  func guarded() throws {
    let hold = try bus.staying("hold", "--action=a.b", "--why=a backup")
    let program = try bus.start("guard", "a.b", "--wait-until-allowed", "--", "sh", "-c", "echo ran; exit 3")
    #expect(try program.errors.line() == "waiting until a.b is allowed:")
    #expect(try program.errors.line()?.hasSuffix(": a backup") == true)
    hold.end(SIGTERM)
    #expect(try program.output.rest() == "ran\n")
    #expect(program.status() == 3)
    #expect(try program.errors.rest() == "")
  }

  @Test("the asker continues after each kind of restart", arguments: RestartedBus.Way.allCases)
  func restarted(way: RestartedBus.Way) throws {
    let restarted = try RestartedBus()
    let hold = try restarted.bus.staying("hold", "a.shouldB", "--why=a backup")
    let program = try waiting(on: restarted.bus, vetoes: ": a backup")
    try restarted.restart(way)
    // Another veto makes it ask again, for which it must still run.
    let delegate = try restarted.bus.staying("delegate", "a.shouldB", "--veto=still")
    var line = try program.errors.line()
    while let other = line, !other.contains(": still") { line = try program.errors.line() }
    try #require(line != nil)
    delegate.end(SIGTERM)
    hold.end(SIGTERM)
    try expectAllowed(program)
  }

  @Test("another configuration of the next bus counts, even if no connection was lost")
  func restartedWithAnother() throws {
    let restarted = try RestartedBus(configuration: "[Query \"a.shouldB\"]\nDefault=veto\n")
    let program = try waiting(on: restarted.bus, vetoes: "Default=veto")
    try restarted.end(.planned)
    try restarted.start(configuration: "")
    try expectAllowed(program)
    #expect(try program.errors.rest() == "")
  }

  @Test("if a bus is killed during an ask, the asker asks again once it is back")
  func killedDuringAsk() throws {
    let gate = try ShellGate()
    try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", "echo asked >&2; \(gate.wait)")
    let delegate = try #require(bus.companions.last)
    let program = try bus.start("ask", "a.shouldB", "--wait-until-allowed")
    #expect(try delegate.errors.line() == "asked")
    #expect(bus.end(SIGKILL) == -SIGKILL)
    delegate.signal(SIGKILL)
    try gate.open()
    let next = try TestBus(folder: folder)
    try expectAllowed(program)
    #expect(try asked(on: next) == 1)
  }

  @Test("the asker gives holds time to return before it asks a bus without a log")
  func holdComesBackLater() throws {
    let hold = try bus.staying("hold", "a.shouldB", "--why=a backup")
    let other = try bus.staying("hold", "c.shouldD", "--why=another")
    let program = try waiting(vetoes: ": a backup")
    try hold.freeze()
    #expect(bus.end(SIGKILL) == -SIGKILL)
    let next = try TestBus(folder: folder)
    #expect(try program.errors.line() == "tribunectl: reconnected to the bus")
    // The other hold is the first one now, so this one gets another id than before, and is shown again.
    #expect(try other.errors.line()?.contains("reconnected to the bus") == true)
    hold.signal(SIGCONT)
    #expect(try hold.errors.line()?.contains("reconnected to the bus") == true)
    #expect(try program.errors.line()?.hasSuffix(": a backup") == true)
    hold.end(SIGTERM)
    try expectAllowed(program)
    withExtendedLifetime(next) {}
  }

  @Test("if the bus does not come back, there is no verdict")
  func busStaysAway() throws {
    let hold = try bus.staying("hold", "a.shouldB", "--why=a backup")
    let programs = try [["ask", "a.shouldB"], ["guard", "a.b"]].map { verb in
      let program = try bus.start(
        ["--reconnect=10ms"] + verb + ["--wait-until-allowed", "--if-unreachable=allow"]
          + (verb[0] == "guard" ? ["--", "echo", "ran"] : []))
      try expectVetoes([": a backup"], of: program)
      return program
    }
    #expect(bus.end(SIGKILL) == -SIGKILL)
    for program in programs {
      #expect(program.status() == 255)
      #expect(try program.output.rest() == "")
      #expect(try program.errors.rest().contains("no bus was found within 10ms"))
    }
    withExtendedLifetime(hold) {}
  }

}

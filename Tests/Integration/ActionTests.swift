// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Actions under way", .timeLimit(.minutes(15)))
struct ActionTests {
  private let bus: TestBus
  private let gate: ShellGate
  private let acting: RunningProgram

  /// A guarded command runs until the gate opens.
  init() throws {
    (bus, gate) = (try TestBus(), try ShellGate())
    acting = try bus.start(
      "guard", "a.prune", "--object=repo", "--", "sh", "-c", "echo acts; \(gate.wait); exit 3")
    #expect(try acting.output.line() == "acts")
  }

  private func hold(_ options: String..., on bus: TestBus? = nil) throws -> RunningProgram {
    let program = try (bus ?? self.bus).start(
      ["hold", "a.shouldPrune", "--why=backup"] + options + ["--", "echo", "ran"])
    #expect(try program.errors.line()?.hasPrefix("holding a.shouldPrune") == true)
    return program
  }

  private func expectWaiting(_ program: RunningProgram, what: String = "the hold waits for") throws {
    #expect(try program.errors.line() == "tribunectl: \(what) an action under way")
    let who = try #require(try program.errors.line())
    #expect(who.hasPrefix("  a.shouldPrune repo by ") && who.contains(" (pid "), "\(who)")
  }

  private func count(on bus: TestBus? = nil) throws -> Int {
    try (bus ?? self.bus).tribunectl("-j", "actions").output.split(separator: "\n").count
  }

  @Test("the command of a hold waits for the guarded commands that had begun before, and names them")
  func waits() throws {
    let program = try hold()
    try expectWaiting(program)
    // Meanwhile nothing new begins.
    #expect(try bus.tribunectl("guard", "a.prune", "--object=repo", "--", "true").status == 77)
    try gate.open()
    #expect(acting.status() == 3)
    #expect(try program.output.line() == "ran")
    #expect(program.status() == 0)
    #expect(try count() == 0)
  }

  @Test("a hold that expires while it waits for an action, without a bus, runs nothing")
  func expiresWithoutBus() throws {
    let program = try hold("--expires=1s")
    try expectWaiting(program)
    bus.signal(SIGKILL)
    #expect(program.status() == 255)
    #expect(try program.errors.rest().contains("the hold has expired: nothing was run"))
    #expect(try program.output.rest() == "")
  }

  @Test("with one slot, a second guard is vetoed and told by whom and since when, or waits for the first one")
  func slots() throws {
    let guarding = ["guard", "a.prune", "--object=repo", "--slots=1"]
    let vetoed = try bus.start(guarding + ["--", "echo", "ran"])
    #expect(vetoed.status() == 77)
    #expect(try vetoed.errors.line() == "tribunectl: a.prune repo was vetoed:")
    let line = try #require(try vetoed.errors.line())
    #expect(line.hasPrefix("  held by tribunectl (pid \(acting.pid), uid "))
    #expect(line.hasSuffix(": a.shouldPrune is under way"))
    #expect(try bus.tribunectl("guard", "a.prune", "--object=other", "--slots=1", "--", "true").status == 0)
    #expect(try bus.tribunectl("guard", "a.prune", "--object=repo", "--slots=2", "--", "true").status == 0)

    let waiting = try bus.start(guarding + ["--wait-until-allowed", "--", "echo", "ran"])
    #expect(try waiting.errors.line()?.hasSuffix("waiting until a.prune repo is allowed:") == true)
    #expect(try waiting.errors.line()?.contains(": a.shouldPrune is under way") == true)
    try gate.open()
    #expect(try waiting.output.line() == "ran")
    #expect(waiting.status() == 0)
  }

  @Test(
    "guards that wait for a slot run in the order in which they came, also over a restart",
    arguments: RestartedBus.Way.allCases)
  func line(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let end = try ShellGate()
    let guarding = ["guard", "a.prune", "--slots=1", "--wait-until-allowed", "--", "sh", "-c"]
    let first = try bus.bus.start(guarding + ["echo acts; \(end.wait)"])
    #expect(try first.output.line() == "acts")
    let order = "\(bus.folder.path)/order"
    var waiting: [RunningProgram] = []
    for number in 1...4 {
      waiting.append(try bus.bus.start(guarding + ["echo \(number) >>\(order)"]))
      #expect(try waiting.last?.errors.line()?.hasSuffix("is allowed:") == true)
    }
    try bus.restart(way)
    try end.open()
    for program in waiting { #expect(program.status() == 0) }
    #expect(try String(contentsOfFile: order, encoding: .utf8) == "1\n2\n3\n4\n")
  }

  @Test(
    "holds that overlap cannot starve a guard that claims, also over a restart",
    arguments: RestartedBus.Way.allCases)
  func claims(_ way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let (ends, pruned) = (try ShellGate(), try ShellGate())
    let holding = ["hold", "a.shouldPrune", "--why=backup", "--"]
    let first = try bus.bus.start(holding + ["sh", "-c", "echo one; \(ends.wait)"])
    #expect(try first.output.line() == "one")
    let claimer = try bus.bus.start(
      [
        "guard", "a.prune", "--wait-until-allowed", "--claim", "--", "sh", "-c",
        "echo prunes; \(pruned.wait)",
      ])
    #expect(try claimer.errors.line()?.hasSuffix("waiting until a.prune is allowed:") == true)
    let second = try bus.bus.start(holding + ["echo", "two"])
    #expect(try second.errors.line()?.hasPrefix("holding a.shouldPrune") == true)
    #expect(try second.errors.line() == "tribunectl: the hold waits for an action claimed")
    let who = try #require(try second.errors.line())
    #expect(who.hasPrefix("  a.shouldPrune by tribunectl (pid \(claimer.pid)), claiming for "), "\(who)")
    #expect(try bus.bus.tribunectl("guard", "a.prune", "--", "true").status == 77)
    try bus.restart(way)
    try ends.open()
    #expect(first.status() == 0)
    #expect(try claimer.output.line() == "prunes")
    #expect(try bus.bus.tribunectl("guard", "a.prune", "--", "true").status == 77)
    try pruned.open()
    #expect(claimer.status() == 0)
    #expect(try second.output.line() == "two")
    #expect(second.status() == 0)
  }

  @Test("a lease of this host needs no cluster, and one command at a time has it")
  func leaseOfHost() throws {
    let end = try ShellGate()
    let lease = ["lease", "db", "--scope=host"]
    let first = try bus.start(lease + ["--", "sh", "-c", "echo has it; \(end.wait)"])
    #expect(try first.output.line() == "has it")
    #expect(try bus.tribunectl("lease", "db", "--scope=host", "--wait=0", "--", "true").status == 75)
    #expect(try bus.tribunectl("lease", "other", "--scope=host", "--wait=0", "--", "true").status == 0)
    let second = try bus.start(lease + ["--", "echo", "ran"])
    #expect(try second.errors.line()?.hasSuffix("waiting until lease db is allowed:") == true)
    try end.open()
    #expect(try second.output.line() == "ran")
    #expect(first.status() == 0 && second.status() == 0)
  }

  @Test("an action is under way while its command runs, even if tribunectl is killed")
  func killed() async throws {
    let killed = try WatchedProcess(acting.pid)
    acting.signal(SIGKILL)
    await killed.ended()
    let program = try hold()
    try expectWaiting(program)
    try gate.open()
    #expect(try program.output.line() == "ran")
    #expect(program.status() == 0)
  }

  @Test("a hold that would wait for its own ancestor fails, and says how it can run")
  func ancestor() throws {
    let bus = try TestBus()
    let tribunectl = try Programs.path(of: "tribunectl")
    func inner(_ option: String) throws -> FinishedProgram {
      try bus.tribunectl(
        "guard", "a.prune", "--", "sh", "-c",
        "exec \(tribunectl) hold --action=a.prune --why=inner \(option) -- echo ran")
    }
    let waiting = try inner("")
    #expect(waiting.status == 255 && waiting.output.isEmpty)
    #expect(waiting.errors.contains("runs this command as that action (see --late=run): nothing was run"))
    let running = try inner("--late=run")
    #expect(running.status == 0 && running.output == "ran\n")
  }

  @Test("a hold is not late for an action about another object")
  func otherObject() throws {
    let program = try bus.start("hold", "a.shouldPrune@other", "--why=b", "--", "echo", "ran")
    #expect(try program.output.line() == "ran")
    #expect(program.status() == 0)
  }

  @Test("with --late, a late hold fails, or its command runs")
  func late() throws {
    let running = try hold("--late=run")
    try expectWaiting(running, what: "the command runs beside")
    #expect(try running.output.line() == "ran" && running.status() == 0)
    for (option, what, error) in [
      ("fail", "the hold is too late for", "the hold is too late: nothing was run"),
      ("wait:1ms", "the hold waits for", "the actions have not ended in time: nothing was run"),
    ] {
      let program = try hold("--late=\(option)")
      try expectWaiting(program, what: what)
      #expect(try program.errors.line() == "tribunectl: \(error)")
      #expect(try program.output.rest() == "" && program.status() == 255)
    }
    for option in ["wait:", "wait:x", "never"] {
      #expect(
        try bus.tribunectl("hold", "a.shouldB", "--why=c", "--late=\(option)", "--", "true").status == 2)
    }
    #expect(try bus.tribunectl("-j", "holds").output == "")
  }

  @Test("a hold that expires meanwhile runs nothing")
  func expires() throws {
    let program = try hold("--expires=200ms")
    try expectWaiting(program)
    #expect(try program.errors.line() == "tribunectl: the hold has expired: nothing was run")
    #expect(try program.output.rest() == "" && program.status() == 255)
  }

  @Test("who may only ask begins nothing", arguments: [true, false])
  func permission(mayPost: Bool) throws {
    let folder = try TestFolder()
    try folder.write(
      "allow ask a.shouldB user:*\n" + (mayPost ? "allow post a.willB user:*\n" : ""),
      to: "etc/policy.d/some.policy")
    let bus = try TestBus(folder: folder)
    let client = try RawClient.greeted(bus, as: 65_534)
    try client.send(Begin(query: QueryID(rawValue: 0)), serial: 1, name: "a.shouldB")
    try client.send(Ask(flags: .begins), serial: 2, name: "a.shouldB")
    #expect(try client.next().kind == (mayPost ? .ok : .error))
    #expect(try client.next().kind == (mayPost ? .verdict : .error))
    try client.send(Begin(query: QueryID(rawValue: 0), stage: .claiming), serial: 3, name: "a.shouldB")
    #expect(try client.next().kind == .error)
  }

  @Test("a signal ends the waiting")
  func interrupted() throws {
    let program = try hold()
    try expectWaiting(program)
    #expect(program.end(SIGINT) == 128 + SIGINT)
    #expect(try program.output.rest() == "")
  }

  @Test("a hold without a command stands, and reports the actions and their end")
  func reports() throws {
    let program = try bus.staying("hold", "a.shouldPrune", "--why=b")
    try expectWaiting(program, what: "the hold is too late for")
    try gate.open()
    #expect(try program.errors.line() == "the actions have ended")
    #expect(program.end(SIGTERM) == 0)
  }

  @Test(
    "the next bus knows the action, also without a keeper, or after a stop", arguments: [SIGKILL, SIGINT])
  func restarted(signal: Int32) throws {
    bus.end(signal)
    let next = try TestBus(folder: bus.folder)
    try next.wait { try count(on: next) == 1 }
    let program = try hold(on: next)
    try expectWaiting(program)
    try gate.open()
    #expect(acting.status() == 3)
    #expect(try program.output.line() == "ran")
    #expect(program.status() == 0)
  }

  @Test("a bus learns of an action that began without one")
  func unreachable() throws {
    bus.end(SIGINT)
    let program = try bus.start(
      "guard", "b.prune", "--if-unreachable=allow", "--", "sh", "-c", "echo acts; \(gate.wait); exit 3")
    #expect(try program.output.line() == "acts")
    let next = try TestBus(folder: bus.folder)
    try next.wait { try count(on: next) == 2 }
    try gate.open()
    #expect(program.status() == 3)
    try next.wait { try count(on: next) == 0 }
  }

  @Test("if the bus is lost meanwhile, the hold waits on the next one")
  func lostMeanwhile() throws {
    let program = try hold()
    try expectWaiting(program)
    bus.end(SIGKILL)
    let next = try TestBus(folder: bus.folder)
    try next.wait { try count(on: next) == 1 && next.tribunectl("-j", "holds").output != "" }
    try gate.open()
    #expect(acting.status() == 3)
    #expect(try program.output.line() == "ran")
    #expect(program.status() == 0)
  }

  @Test("actions are listed and explained, and announced")
  func listed() throws {
    let listed = try bus.tribunectl("-j", "actions").object()
    #expect(listed["name"] as? String == "a.shouldPrune" && listed["object"] as? String == "repo")
    let explained = try bus.tribunectl("explain", "a.shouldPrune")
    #expect(explained.output.contains("1 action of it under way."), "\(explained.output)")
    let observer = try bus.staying("-j", "observe", "tribune.action.*")
    try gate.open()
    let end = try jsonObject(try #require(try observer.output.line()))
    #expect(end["name"] as? String == "tribune.action.didEnd")
    #expect((end["userInfo"] as? [String: Any])?["name"] as? String == "a.shouldPrune")
  }

  @Test("a notification that is bound to a command goes with it, and with tribunectl")
  func bound() throws {
    let observer = try bus.staying("-j", "observe", "svc.status")
    let service = try bus.start(
      "post", "svc.status", "1", "--bound", "--exec", "sh", "-c", "\(gate.wait); exit 3")
    #expect(try service.errors.line()?.hasPrefix("posted svc.status, while this runs") == true)
    #expect(try bus.tribunectl("get", "svc.status").output == "1\n")
    try gate.open()
    #expect(service.status() == 3)
    for userInfo in [1, nil] as [Int?] {
      let news = try jsonObject(try #require(try observer.output.line()))
      #expect(news["userInfo"] as? Int == userInfo)
    }
    #expect(try bus.tribunectl("get", "svc.status").status == 1)
    let other = try bus.start("post", "svc.status", "2", "--bound")
    #expect(try other.errors.line()?.hasPrefix("posted svc.status, while this runs") == true)
    _ = other.end(SIGKILL)
    try bus.wait { try bus.tribunectl("get", "svc.status").status == 1 }
    #expect(try bus.tribunectl("post", "svc.status", "2", "--exec", "true").status == 2)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("Holds", .timeLimit(.minutes(15)))
struct HoldTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test(
    "a hold vetoes with its reason, is listed and explained, can be overridden, and ends with its process")
  func hold() throws {
    let hold = try bus.staying("hold", "archive.**", "--object=photos", "--why=a restore runs")
    let vetoed = try bus.tribunectl("ask", "archive.shouldPrune", "--object=photos")
    #expect(vetoed.status == 1)
    #expect(vetoed.output.contains("held"))
    #expect(vetoed.output.contains(": a restore runs"))
    #expect(try bus.tribunectl("ask", "archive.shouldPrune", "--object=films").status == 0)
    #expect(try bus.tribunectl("ask", "archive.shouldPrune").status == 1)

    let listed = try bus.tribunectl("-j", "holds").object()
    #expect(listed["pid"] as? Int == Int(hold.pid))
    let explained = try bus.tribunectl("-j", "explain", "archive.shouldPrune", "--object=photos").object()
    #expect(explained["hold"] as? Int == listed["hold"] as? Int)

    let overridden = try bus.tribunectl(
      "-j", "ask", "archive.shouldPrune", "--object=photos", "--override=it burns")
    #expect(overridden.status == 0)
    #expect(try overridden.object()["overridden"] as? Bool == true)

    #expect(hold.end(SIGTERM) == 0)
    #expect(try bus.tribunectl("ask", "archive.shouldPrune", "--object=photos").status == 0)
    #expect(try bus.tribunectl("-j", "holds").output == "")
  }

  @Test("a hold about the host reports that logind does not enforce it, and fails if it is too late")
  func enforcement() throws {
    var answer = #"{"isInForce":false,"says":"logind hangs"}"#
    let delegate = try bus.staying("delegate", "host.enforcement", "--exec", "echo", answer)
    let hold = try bus.start("hold", "host.shouldReboot", "--why=a")
    #expect(try hold.errors.line()?.hasPrefix("holding ") == true)
    #expect(try hold.errors.line() == "logind hangs")
    #expect(hold.end(SIGTERM) == 0 && delegate.end(SIGTERM) == 0)
    let hanging = try bus.staying("delegate", "host.enforcement", "--timeout=100ms", "--exec", "sleep", "60")
    let unsure = try bus.start("hold", "host.shouldReboot", "--why=a")
    #expect(try unsure.errors.line()?.hasPrefix("holding ") == true)
    #expect(try unsure.errors.line()?.hasPrefix("logind may not know of the hold yet: ") == true)
    #expect(unsure.end(SIGTERM) == 0 && hanging.end(SIGTERM) == 0)
    answer = #"{"isTooLate":true}"#
    try bus.staying("delegate", "host.enforcement", "--exec", "echo", answer)
    for command in [[], ["--", "echo", "ran"]] {
      let late = try TestBus.tribunectl(
        ["hold", "host.shouldReboot", "--why=a"] + command, address: bus.address)
      #expect(late.status != 0 && late.output == "" && late.errors.contains("too late"), "\(late.errors)")
    }
    #expect(try bus.tribunectl("-j", "holds").output == "")
  }

  @Test("a hold about the host says in one line on a terminal what it binds, and nothing without one")
  func binding() throws {
    for says in ["the hold binds root, too", "the hold does not bind root: Enforce= is off"] {
      let answer = #"{"isInForce":true,"says":"\#(says)"}"#
      let delegate = try bus.staying("delegate", "host.enforcement", "--exec", "echo", answer)
      let command = ["hold", "host.shouldReboot", "host.shouldPowerOff", "--why=a", "--", "true"]
      let terminal = try bus.terminal(command)
      let shown = try terminal.rest().split(separator: "\r\n")
      #expect(shown.count == 2 && shown[0].hasPrefix("holding ") && shown[1] == says, "\(shown)")
      #expect(try !bus.terminal(["--quiet"] + command).rest().contains("root"))
      let errors = try TestBus.tribunectl(command, address: bus.address).errors
      #expect(errors.hasPrefix("holding ") && errors.count { $0 == "\n" } == 1, "\(errors)")
      #expect(delegate.end(SIGTERM) == 0)
    }
  }

  @Test("an override about the host lists the remaining obstacles")
  func obstacles() throws {
    try bus.staying("hold", "host.shouldPowerOff", "--why=a")
    try bus.staying("delegate", "host.enforcement", "--exec", "echo", #"{"obstacles":["it is masked"]}"#)
    for asking in [
      ["ask", "host.shouldPowerOff", "--override=now"],
      ["guard", "host.powerOff", "--override=now", "--", "true"],
    ] {
      let asked = try TestBus.tribunectl(asking, address: bus.address)
      #expect(asked.status == 0)
      #expect(
        asked.errors.contains("host.shouldPowerOff may still be refused: it is masked\n"), "\(asked.errors)")
    }
  }

  @Test(
    "a command runs under the hold, which ends with it and has its exit status",
    arguments: [
      (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -9 $$"], 128 + SIGKILL), (["true"], 0),
      (["/nonexistent"], 127), (["/etc/passwd"], 126),
    ] as [([String], Int32)])
  func command(command: [String], status: Int32) throws {
    let result = try TestBus.tribunectl(
      ["hold", "a.shouldB", "--why=c", "--"] + command, address: bus.address)
    #expect(result.status == status)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test("several names can be held, and the question of an action")
  func names() throws {
    let program = try bus.start("hold", "a.shouldB", "c.*", "--action=host.reboot", "--why=d")
    let ready = try #require(try program.errors.line())
    #expect(ready.hasPrefix("holding a.shouldB c.* host.shouldReboot (any object, hold "))
    #expect(ready.hasSuffix("), on \(bus.address)"))
    #expect(try bus.tribunectl("guard", "host.reboot", "--", "echo", "ran").output == "")
    for name in ["a.shouldB", "c.shouldAct"] { #expect(try bus.tribunectl("ask", name).status == 1) }
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("each name and each action can have an object of its own")
  func objects() throws {
    let program = try bus.start(
      "hold", "a.shouldB@repo/main", "c.shouldD", "--action=e.f@x", "--action=g.h", "--why=i")
    #expect(
      try program.errors.line()?.hasPrefix(
        "holding a.shouldB@repo/main c.shouldD e.shouldF@x g.shouldH (hold ")
        == true)
    for (name, object, status): (String, String, Int32) in [
      ("a.shouldB", "repo/main", 1), ("a.shouldB", "repo/other", 0), ("c.shouldD", "repo/main", 1),
      ("e.shouldF", "x", 1), ("e.shouldF", "y", 0), ("g.shouldH", "y", 1),
    ] {
      #expect(try bus.tribunectl("ask", name, "--object=\(object)").status == status, "\(name) \(object)")
    }
    #expect(program.end(SIGTERM) == 0)
  }

  @Test("verdicts and lists name the holder: its label, the command, or the process that started tribunectl")
  func label() throws {
    try bus.staying("hold", "a.shouldB", "--why=c", "--label=nightly backup")
    let gate = try ShellGate()
    let command = try bus.start("hold", "b.shouldC", "--why=c", "--", "/usr/bin/env", "sh", "-c", gate.wait)
    _ = try command.errors.line()
    let script = try RunningProgram(
      [
        "/bin/sh", "-c",
        "'\(try Programs.path(of: "tribunectl"))' --reconnect=0 hold c.shouldD --why=e; true",
      ],
      environment: ["TRIBUNE_ADDRESS": bus.address])
    _ = try script.errors.line()
    for (name, label) in [("a.shouldB", "nightly backup"), ("b.shouldC", "env"), ("c.shouldD", "sh")] {
      let outcomes = try #require(
        try bus.tribunectl("-j", "ask", name).object()["outcomes"] as? [[String: Any]])
      #expect(outcomes.map { $0["label"] as? String } == [label])
      #expect(try bus.tribunectl("-j", "explain", name).object()["label"] as? String == label)
    }
    let labels = try bus.tribunectl("-j", "holds").lines.map { try jsonObject($0)["label"] as? String }
    #expect(labels == ["nightly backup", "env", "sh"])
    try gate.open()
    bus.signal(SIGKILL)
    #expect(script.status() == 0)
    #expect(command.status() == 0)
  }

  @Test(
    "an option that chooses the bus also applies to the command",
    arguments: [["hold", "a.shouldB", "--why=c"], ["guard", "a.b"]], [true, false])
  func address(verb: [String], isGiven: Bool) throws {
    let start = isGiven ? ["--address=\(bus.address)"] : []
    let result = try TestBus.tribunectl(
      start + verb + ["--", "sh", "-c", "echo $TRIBUNE_ADDRESS"],
      address: isGiven ? "unix:/nowhere" : bus.address)
    result.expect(0, output: "\(bus.address)\n")
  }

  @Test("the hold stands while its command runs, even if tribunectl is killed")
  func killed() async throws {
    let gate = try ShellGate()
    let program = try bus.start(
      "hold", "a.shouldB", "--why=c", "--", "sh", "-c", "echo started; \(gate.wait)")
    #expect(try program.output.line() == "started")
    let killed = try WatchedProcess(program.pid)
    program.signal(SIGKILL)
    await killed.ended()
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    try gate.open()
    #expect(try program.output.rest() == "")
    try bus.wait { try bus.tribunectl("ask", "a.shouldB").status == 0 }
  }

  @Test("with --pid, the hold ends with that process")
  func pid() throws {
    let other = try RunningProgram(["/bin/sleep", "1000"])
    let program = try bus.staying("hold", "a.shouldB", "--why=c", "--pid=\(other.pid)")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    _ = other.end(SIGKILL)
    #expect(try program.errors.line() == "released a.shouldB: the process has ended")
    #expect(program.status() == 0)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    let gone = try bus.tribunectl("hold", "a.shouldB", "--why=c", "--pid=\(other.pid)")
    gone.expect(1, errors: "tribunectl: process \(other.pid): No such process\n")
  }

  @Test(
    "while a command or a process runs, its hold returns with the bus whatever --reconnect is, and reports that once",
    arguments: [true, false], [SIGTERM, SIGKILL])
  func busGoes(hasCommand: Bool, signal: CInt) throws {
    let gate = try ShellGate()
    let shell = ["sh", "-c", "\(gate.wait); exit 3"]
    let other = hasCommand ? nil : try RunningProgram(["/usr/bin/env"] + shell)
    let program = try bus.start(
      ["--reconnect=0", "hold", "a.shouldB", "--why=c"]
        + (other.map { ["--pid=\($0.pid)"] } ?? ["--"] + shell))
    #expect(try program.errors.line()?.hasPrefix("holding a.shouldB") == true)
    bus.end(signal)
    #expect(try program.errors.line()?.hasSuffix("; looking for the bus") == true)
    let next = try TestBus(folder: bus.folder)
    #expect(
      try program.errors.line()?.hasPrefix("tribunectl: reconnected to the bus; the hold is in force again, ")
        == true)
    #expect(try next.tribunectl("ask", "a.shouldB").status == 1)
    try gate.open()
    #expect(program.status() == (hasCommand ? 3 : 0))
    #expect(
      try program.errors.rest() == (hasCommand ? "" : "released a.shouldB: the process has ended\n"))
    #expect(try next.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test(
    "with --if-unreachable=run, the command runs without a bus, and the hold is taken once there is one"
  )
  func runsAnyway() throws {
    let (gate, folder) = (try ShellGate(), try TestFolder())
    let program = try RunningProgram([
      try Programs.path(of: "tribunectl"), "--address=unix:\(folder.path)/bus", "hold", "a.shouldB",
      "--why=c",
      "--if-unreachable=run", "--", "sh", "-c", "echo started; \(gate.wait); exit 3",
    ])
    let line = try program.errors.line() ?? ""
    #expect(line.hasPrefix("tribunectl: no bus at unix:\(folder.path)/bus: "))
    #expect(line.hasSuffix("; the command runs without the hold, as --if-unreachable says"))
    #expect(try program.output.line() == "started")
    let bus = try TestBus(folder: folder)
    #expect(try program.errors.line() == "tribunectl: the hold is in force")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    try gate.open()
    #expect(program.status() == 3)
    #expect(try program.errors.rest() == "")
  }

  @Test(
    "a command runs even if the policy refuses its hold, which is taken once the policy allows it")
  func refused() throws {
    let folder = try TestFolder()
    try folder.write("allow ask ** user:*\n", to: "etc/policy.d/a.policy")
    let bus = try TestBus(folder: folder)
    let user = try OtherUser(65_534, on: bus.address, in: folder)
    let held = ["hold", "a.shouldB", "--why=c"]
    let command = ["--", "sh", "-c", "echo started; exec sleep 1000"]
    let refused = try FinishedProgram(user.command(held + command))
    refused.expect(255, output: "")
    #expect(
      refused.errors.contains(" may not hold a.shouldB: ") && refused.errors.contains("--if-unreachable=run"))
    let program = try RunningProgram(user.command(held + ["--if-unreachable=run"] + command))
    #expect(try program.errors.line()?.contains(" may not hold a.shouldB: ") == true)
    #expect(try program.output.line() == "started")
    try folder.write("allow ask,hold ** user:*\n", to: "etc/policy.d/a.policy")
    try bus.reload("")
    #expect(try program.errors.line() == "tribunectl: the hold is in force")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    try folder.write("allow ask ** user:*\n", to: "etc/policy.d/a.policy")
    try bus.reload("")
    #expect(
      try program.errors.line()?.hasPrefix(
        "tribunectl: the hold has ended, and is taken again when it can be: ")
        == true)
    try folder.write("allow ask,hold ** user:*\n", to: "etc/policy.d/a.policy")
    try bus.reload("")
    #expect(try program.errors.line() == "tribunectl: the hold is in force again, but was interrupted")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 1)
    #expect(program.end(SIGTERM) == 128 + SIGTERM)
  }

  @Test(
    "with --wait-for-bus, a verb waits for a bus at the start; a hold that expires meanwhile runs nothing",
    arguments: [
      (["ask", "a.shouldB"], 0), (["ask", "a.shouldB", "--wait-until-allowed=1s"], 0),
      (["hold", "a.shouldB", "--why=c", "--", "true"], 0),
      (["hold", "a.shouldB", "--why=c", "--expires=100ms", "--", "true"], 255),
    ] as [([String], Int32)])
  func waitsForBus(line: [String], status: Int32) throws {
    let folder = try TestFolder()
    func command(_ span: String) throws -> [String] {
      [
        try Programs.path(of: "tribunectl"), "--address=unix:\(folder.path)/bus", "--wait-for-bus=\(span)",
      ] + line
    }
    let waiting = try RunningProgram(command("infinity"))
    #expect(try waiting.errors.line()?.hasSuffix("; waiting for a bus") == true)
    let late = try FinishedProgram(command("20ms"))
    late.expect(255, output: "")
    // The timeout may precede the first message.
    #expect(late.errors.contains("tribunectl: no bus at "))
    let remedies = ["--if-unreachable=run", "--wait-for-bus=SPAN"]
    #expect(remedies.allSatisfy { late.errors.contains($0) } == (line[0] == "hold"))
    let bus = try TestBus(folder: folder)
    #expect(waiting.status() == status)
    #expect(bus.stop() == 0)
  }

  @Test(
    "an asker that waited for a bus asks only after the holders reconnected",
    arguments: [["ask", "a.shouldB"], ["guard", "a.b", "--", "true"]])
  func letsHoldersReturn(line: [String]) throws {
    let bus = try TestBus()
    let holder = try bus.staying("hold", "a.shouldB", "--why=w", "--reconnect=infinity")
    #expect(bus.end(SIGKILL) == -SIGKILL)
    let asker = try bus.start(["--wait-for-bus=infinity"] + line)
    #expect(try asker.errors.line()?.hasSuffix("; waiting for a bus") == true)
    let next = try TestBus(folder: bus.folder)
    #expect(asker.status() == (line[0] == "ask" ? 1 : 77))
    #expect(holder.end(SIGTERM) == 0)
    #expect(next.stop() == 0)
  }

  @Test("a bus that this user may not reach is an error, not a missing bus")
  func forbidden() throws {
    let bus = try TestBus()
    let other = try OtherUser(65_534, on: bus.address, in: bus.folder)
    #expect(unsafe chmod(bus.path, 0o600) == 0)
    let asked = try other.tribunectl("ask", "a.shouldB", "--if-unreachable=allow", "--wait-for-bus=infinity")
    asked.expect(255, output: "")
    #expect(asked.errors.hasPrefix("tribunectl: no bus at \(bus.address): Permission denied"))
  }

  @Test("each line of a pipe becomes the reason; observers learn it, and waiting askers do not wake")
  func newReason() throws {
    let (folder, gate, end) = (try TestFolder(), try ShellGate(), try ShellGate())
    let pipe = "\(folder.path)/reasons"
    _ = try retrying { unsafe mkfifo(pipe, 0o600) }
    let observer = try bus.staying("-j", "observe", "tribune.hold.*")
    let program = try bus.start(
      "hold", "a.shouldB", "c.shouldD", "--why=begins", "--why-from=\(pipe)", "--", "sh", "-c",
      "\(gate.wait); printf 'at 20 %%\\nat 40 %%\\n' >\(pipe); printf 'at 80 %%\\n\\n' >\(pipe); \(end.wait)"
    )
    #expect(try program.errors.line()?.hasPrefix("holding a.shouldB c.shouldD") == true)
    let waiting = try bus.start("ask", "a.shouldB", "--wait-until-allowed")
    for text in ["waiting until ", ": begins"] {
      #expect(try waiting.errors.line()?.contains(text) == true)
    }
    try gate.open()
    var seen: [String] = []
    while seen.count < 2 || seen.suffix(2).contains(where: { !$0.contains("at 80 %") }) {
      seen.append(try #require(try observer.output.line()))
    }
    #expect(seen.last?.contains("\"name\":\"tribune.hold.didChange\"") == true)
    #expect(try bus.tribunectl("ask", "c.shouldD").output.contains(": at 80 %"))
    #expect(program.end(SIGTERM) == 128 + SIGTERM)
    #expect(waiting.status() == 0)
    #expect(try waiting.errors.rest() == "")
  }

  @Test("standard input can change the reason, even of holds that are taken again")
  func reasonsFromInput() throws {
    let input = Pipe()
    let program = try RunningProgram(
      [
        try Programs.path(of: "tribunectl"), "--address=\(bus.address)", "hold", "a.shouldB", "--why=begins",
        "--why-from=-",
      ], input: input)
    #expect(try program.errors.line()?.hasPrefix("holding ") == true)
    let observer = try bus.staying("-j", "observe", "tribune.hold.didChange")
    try input.fileHandleForWriting.write(contentsOf: Data("at 40 %\n".utf8))
    #expect(try observer.output.line()?.contains("\"why\":\"at 40 %\"") == true)
    bus.end(SIGKILL)
    let next = try TestBus(folder: bus.folder)
    #expect(try program.errors.line()?.contains("; the hold is in force again, ") == true)
    #expect(try next.tribunectl("ask", "a.shouldB").output.contains(": at 40 %"))
    #expect(program.end(SIGTERM) == 0)
    try next.folder.write("at 90 %\n", to: "reason")
    let file = try next.staying("hold", "c.shouldD", "--why=c", "--why-from=\(next.folder.path)/reason")
    #expect(try file.errors.line() == "tribunectl: --why-from: the file has ended; the reason stays")
    #expect(try next.tribunectl("ask", "c.shouldD").output.contains(": at 90 %"))
    #expect(
      try bus.tribunectl("hold", "a.shouldB", "--why=c", "--why-from=-", "--", "echo", "ran").status == 2)
    try bus.tribunectl("hold", "a.shouldB", "--why=c", "--why-from=/nowhere", "--", "echo", "ran").expect(
      255, output: "", errors: "tribunectl: /nowhere: No such file or directory\n")
  }

  @Test("a new reason outlives a restart", arguments: RestartedBus.Way.allCases)
  func newReasonOverRestarts(way: RestartedBus.Way) throws {
    let bus = try RestartedBus()
    let holder = try RawClient.greeted(bus)
    try holder.sendConfirmed(Hold(), serial: 1, name: "a.shouldB", text: "begins")
    for serial in 2...4 as ClosedRange<Serial> {
      try holder.sendConfirmed(Amend(target: 1), serial: serial, text: "at \(serial)0 %")
    }
    let before = try bus.bus.tribunectl("-j", "holds").object()
    try bus.restart(way)
    let after = try bus.bus.tribunectl("-j", "holds").object()
    #expect(after["why"] as? String == "at 40 %" && after["hold"] as? Int == before["hold"] as? Int)
    #expect(try bus.bus.tribunectl("ask", "a.shouldB").output.contains(": at 40 %"))
  }

  @Test("an expired hold is reported, and vetoes nothing")
  func expiry() throws {
    let program = try bus.staying("hold", "a.shouldB", "--why=c", "--expires=500ms")
    #expect(try program.errors.line() == "expired a.shouldB")
    #expect(program.status() == 0)
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    #expect(try bus.tribunectl("-j", "holds").output == "")
  }

  @Test(
    "a hold that is too long is shortened: the holder is told at once and again, and the end is announced")
  func limit() throws {
    try bus.reload("[Query \"a.shouldB\"]\nHoldMaxSec=2s\n")
    let observer = try bus.staying("observe", "tribune.hold.didRelease")
    for options in [["--expires=1h"], []] {
      let program = try bus.staying(["hold", "a.*", "--why=c"] + options)
      let held = try #require(try program.errors.line())
      #expect(held.hasPrefix("tribunectl: held until "))
      #expect(held.hasSuffix(" (2s): the bus allows no longer hold of a.*"))
      let listed = try bus.tribunectl("-j", "holds").object()
      #expect((listed["expiresIn"] as? Double).map { $0 > 0 && $0 <= 2 } == true)
      #expect(try program.errors.line() == "tribunectl: the hold of a.* ends in 200ms")
      #expect(try program.errors.line() == "expired a.*")
      #expect(program.status() == 0)
      #expect(try observer.output.line()?.contains("\"expired\":true") == true)
    }
    #expect(try bus.log().contains("expired after 2"))
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
  }

  @Test("a hold within the limit is as long as it was")
  func withinLimit() throws {
    try bus.reload("[Query \"a.shouldB\"]\nHoldMaxSec=1h\n")
    let program = try bus.staying("hold", "a.shouldB", "--why=c", "--expires=500ms")
    #expect(try program.errors.line() == "expired a.shouldB")
  }

  @Test("of several holds, those without a limit outlast the others")
  func limitOfOne() throws {
    try bus.reload("[Query \"a.shouldB\"]\nHoldMaxSec=2s\n")
    let program = try bus.staying("hold", "a.shouldB", "c.shouldD", "--why=c")
    #expect(try program.errors.line()?.hasSuffix("the bus allows no longer hold of a.shouldB") == true)
    #expect(try program.errors.line() == "tribunectl: the hold of a.shouldB ends in 200ms")
    #expect(try program.errors.line() == "tribunectl: the hold of a.shouldB has expired")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    #expect(try bus.tribunectl("ask", "c.shouldD").status == 1)
  }

  @Test("a command outlives the limit of its hold, and its holder is told")
  func limitOfCommand() throws {
    try bus.reload("[Query \"a.shouldB\"]\nHoldMaxSec=1s\n")
    let program = try bus.staying("hold", "a.shouldB", "--why=c", "--", "sleep", "1000")
    #expect(
      try program.errors.line()?.hasSuffix("(1s): the bus allows no longer hold of a.shouldB") == true)
    #expect(try program.errors.line() == "tribunectl: the hold of a.shouldB ends in 100ms")
    #expect(
      try program.errors.line() == "tribunectl: the hold has expired; the command continues without it")
    #expect(try bus.tribunectl("ask", "a.shouldB").status == 0)
    #expect(program.end(SIGTERM) == 128 + SIGTERM)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

@Suite("tribunectl guards", .timeLimit(.minutes(15)))
struct GuardEndingTests {
  struct Way: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var delegate: String?
    var options: [String] = []
    var command: [String]
    var status: Int32
    var announced: [String]
    var errors = ""
  }

  static let ways = [
    Way(
      testDescription: "allowed", delegate: "exit 0", command: ["true"], status: 0,
      announced: ["a.willB null", "a.didB null"]),
    Way(
      testDescription: "allowed, without delegates", command: ["true"], status: 0,
      announced: ["a.willB null", "a.didB null"]),
    Way(
      testDescription: "vetoed", delegate: "echo no; exit 1", command: ["true"], status: 77, announced: [],
      errors: "tribunectl: a.b was vetoed:\n"),
    Way(
      testDescription: "vetoed, with another exit status", delegate: "exit 1",
      options: ["--veto-exit-code=3"], command: ["true"], status: 3, announced: [],
      errors: "tribunectl: a.b was vetoed:\n"),
    Way(
      testDescription: "vetoed by a failure", delegate: "exit 3", command: ["true"], status: 77,
      announced: [], errors: "exited with 3"),
    Way(
      testDescription: "the command fails", command: ["sh", "-c", "exit 7"], status: 7,
      announced: ["a.willB null", "a.didFailToB {\"status\":7}"]),
    Way(
      testDescription: "the command is killed", command: ["sh", "-c", "kill -KILL $$"], status: 128 + SIGKILL,
      announced: ["a.willB null", "a.didFailToB {\"signal\":9}"]),
    Way(
      testDescription: "the query is refused", options: ["--timeout=2h"], command: ["true"], status: 255,
      announced: [], errors: "over the limit"),
  ]

  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private func announced(to observer: RunningProgram, on bus: TestBus? = nil) throws -> [String] {
    #expect(try (bus ?? self.bus).tribunectl("post", "end").status == 0)
    var announced: [String] = []
    while let line = try observer.output.line() {
      let object = try jsonObject(line)
      let userInfo = try JSONSerialization.data(
        withJSONObject: object["userInfo"] ?? "", options: .fragmentsAllowed)
      let name = try #require(object["name"] as? String)
      if name == "end" { break }
      announced.append("\(name) \(String(decoding: userInfo, as: UTF8.self))")
    }
    return announced
  }

  private func guarding(_ command: String) throws -> RunningProgram {
    try bus.start("guard", "a.b", "--", "sh", "-c", command)
  }

  @Test("exit status, announcements and messages show how it ended", arguments: ways)
  func table(way: Way) throws {
    let observer = try bus.staying("-j", "observe", "**")
    if let script = way.delegate { try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", script) }
    let result = try TestBus.tribunectl(
      ["guard", "a.b"] + way.options + ["--"] + way.command, address: bus.address)
    #expect(result.status == way.status)
    #expect(way.errors.isEmpty ? result.errors == "" : result.errors.contains(way.errors))
    #expect(try announced(to: observer) == way.announced)
  }

  @Test(
    "a command that is removed while the delegates are asked has failed",
    arguments: [("rm", 127), ("chmod -x", 126)])
  func lateLoss(change: String, status: Int32) throws {
    let command = "\(bus.folder.path)/command"
    try bus.folder.write("#!/bin/sh\n", to: "command", mode: 0o755)
    let observer = try bus.staying("-j", "observe", "**")
    try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", "\(change) \(command)")
    let result = try bus.tribunectl("guard", "a.b", "--", command)
    #expect(result.status == status)
    #expect(result.errors.hasPrefix("tribunectl: \(command) cannot be run: "))
    #expect(try announced(to: observer) == ["a.willB null", "a.didFailToB {\"status\":\(status)}"])
  }

  @Test("the example in the help tells a veto from the command's own failure, even from its 77")
  func example() throws {
    let help = try bus.tribunectl("help", "guard").output
    let lines = help.split(separator: "\n").drop { !$0.hasPrefix("    tribunectl guard backup.run ") }
    let script = lines.prefix { $0.hasPrefix("    ") }.joined(separator: "\n")
    func says(_ command: String) throws -> String {
      let text = script.replacing("restic backup /srv", with: command)
      let path = "\(try Programs.folder()):/usr/bin:/bin"
      return try FinishedProgram(
        ["/bin/sh", "-c", text], environment: ["TRIBUNE_ADDRESS": bus.address, "PATH": path]
      ).output
    }
    #expect(try says("true") == "restic has run\n")
    #expect(try says("sh -c 'exit 77'") == "restic has run\n")
    try bus.staying("hold", "backup.shouldRun", "--why=no")
    #expect(try says("true") == "vetoed: nothing has run\n")
  }

  @Test("an allowed command gets all its arguments, and runs between `will` and `did` of its object")
  func allowed() throws {
    let observer = try bus.staying("-j", "observe", "window.**", "--object=w/1", "-N2")
    let result = try bus.tribunectl(
      "guard", "window.close", "--object=w/1", "--", "sh", "-c", "echo \"$@\"; echo err >&2", "-",
      "--object=x", "-q")
    result.expect(0, output: "--object=x -q\n", errors: "err\n")
    for name in ["window.willClose", "window.didClose"] {
      #expect(try observer.output.object()["name"] as? String == name)
    }
  }

  @Test("a veto prints every reason, but no approval")
  func everyReason() throws {
    let first = try bus.staying("delegate", "a.shouldB", "--veto=one\u{1B}", "--label=first")
    for way in ["--approve", "--veto=two"] { try bus.staying("delegate", "a.*", way) }
    let errors = try bus.tribunectl("guard", "a.b", "--object=x", "--", "true").errors
    #expect(errors.hasPrefix("tribunectl: a.b x was vetoed:\n"))
    #expect(errors.contains("vetoed by first (tribunectl, pid \(first.pid), uid \(getuid())"))
    #expect(errors.contains("): one\\u{1b}\n") && errors.contains("): two\n"))
    #expect(!errors.contains("approved"))
  }

  @Test("an overridden veto is printed before the command runs, except with -q; the output is the command's")
  func overridden() throws {
    let delegate = try bus.staying("delegate", "a.shouldB", "--veto=a restore runs", "--label=restore")
    let guarded = ["guard", "a.b", "--override=it burns", "--", "sh", "-c", "echo ran; echo ran >&2"]
    let result = try TestBus.tribunectl(["-j"] + guarded, address: bus.address)
    result.expect(0, output: "ran\n")
    let lines = result.errors.split(separator: "\n")
    #expect(lines.count == 3 && lines[0] == "tribunectl: a.b was vetoed (overridden):" && lines[2] == "ran")
    #expect(lines[1].hasPrefix("  vetoed by restore (tribunectl, pid \(delegate.pid), "))
    #expect(lines[1].hasSuffix("): a restore runs"))
    try TestBus.tribunectl(["-q"] + guarded, address: bus.address).expect(0, output: "ran\n", errors: "ran\n")
  }

  @Test("should, will and did come from one connection")
  func oneConnection() throws {
    let monitor = try bus.staying("-j", "monitor")
    #expect(try bus.tribunectl("guard", "a.b", "--", "true").status == 0)
    var senders: [String: String] = [:]
    while senders["a.didB"] == nil {
      let object = try monitor.output.object()
      if let name = object["name"] as? String, let from = object["from"] as? String { senders[name] = from }
    }
    #expect(Set(senders.keys).isSuperset(of: ["a.shouldB", "a.willB", "a.didB"]))
    #expect(Set(senders.values).count == 1)
  }

  @Test(
    "the command gets the signals of a guard or a hold, which has the command's exit status",
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2], [["guard"], ["hold", "--why=c"]])
  func signals(signal: CInt, verb: [String]) throws {
    let observer = try bus.staying("-j", "observe", "**")
    let program = try bus.start(
      verb + [
        verb[0] == "guard" ? "a.b" : "a.shouldB", "--", "sh", "-c",
        "trap 'echo trapped; exit 5' \(signal); echo started; while :; do sleep 0.01; done",
      ])
    #expect(try program.output.line() == "started")
    program.signal(signal)
    #expect(try program.output.line() == "trapped")
    #expect(program.status() == 5)
    let expected = verb[0] == "guard" ? ["a.willB null", "a.didFailToB {\"status\":5}"] : []
    #expect(try announced(to: observer) == expected)
  }

  @Test("a kernel that lacks memory for its frames only makes it wait")
  func scarceMemory() throws {
    let observer = try bus.staying("-j", "observe", "**")
    let library = try PreloadedLibrary("ScarceMemory", in: bus.folder)
    let result = try bus.tribunectl(
      "guard", "a.b", "--", "echo", "ran", environment: ["LD_PRELOAD": library.path])
    result.expect(0, output: "ran\n")
    #expect(try announced(to: observer) == ["a.willB null", "a.didB null"])
  }

  @Test("a signal while it asks withdraws the query", arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func interruptedAsking(signal: CInt) throws {
    let observer = try bus.staying("-j", "observe", "**")
    let delegate = try bus.staying(
      "-j", "delegate", "**", "--timeout=1min", "--exec", "sh", "-c", "echo asked >&2; exec sleep 1000")
    let guarding = try guarding("echo ran")
    #expect(try delegate.errors.line() == "asked")
    #expect(guarding.end(signal) == 128 + signal)
    #expect(try guarding.output.rest() == "")
    #expect(try delegate.output.line()?.contains("\"answer\":\"withdrawn\"") == true)
    #expect(try announced(to: observer) == [])
  }

  @Test(
    "a signal that was ignored at the start stays ignored, also by the command",
    arguments: [("INT", SIGINT), ("QUIT", SIGQUIT), ("HUP", SIGHUP)])
  func ignored(name: String, signal: CInt) throws {
    let gate = try ShellGate()
    let delegate = try bus.staying(
      "delegate", "a.shouldB", "--timeout=1min", "--exec", "sh", "-c",
      "echo asked >&2; \(gate.wait)")
    let guarding = try RunningProgram([
      "/bin/sh", "-c", "trap '' \(name); exec \"$@\"", "sh", try Programs.path(of: "tribunectl"),
      "--address=\(bus.address)", "guard", "a.b", "--", "sh", "-c", "kill -\(name) $$; exit 5",
    ])
    #expect(try delegate.errors.line() == "asked")
    guarding.signal(signal)
    try gate.open()
    #expect(guarding.status() == 5)
  }

  @Test("if the bus dies for good while the command runs, the guard reports that it cannot announce the end")
  func busGoneRunning() throws {
    let result = try bus.tribunectl(
      "guard", "a.b", "--reconnect=0", "--", "sh", "-c", "kill -KILL \(bus.pid); echo ran; exit 4")
    result.expect(4, output: "ran\n")
    #expect(result.errors.hasPrefix("tribunectl: a.didFailToB could not be posted: "))
  }

  @Test(
    "if the bus comes back while the command runs, the guard announces the end there",
    arguments: [(0, "a.didB null"), (4, "a.didFailToB {\"status\":4}")] as [(Int32, String)])
  func busBack(status: Int32, announced: String) throws {
    let gate = try ShellGate()
    let guarding = try guarding("echo started; \(gate.wait); exit \(status)")
    #expect(try guarding.output.line() == "started")
    bus.end(SIGKILL)
    let next = try TestBus(folder: bus.folder)
    let observer = try next.staying("-j", "observe", "**")
    try gate.open()
    #expect(guarding.status() == status)
    #expect(try guarding.errors.rest() == "tribunectl: reconnected to the bus\n")
    #expect(try self.announced(to: observer, on: next) == [announced])
  }

  @Test("it looks for a bus for the time in --reconnect, even if the time for an answer is shorter")
  func busBackLate() throws {
    let gate = try ShellGate()
    func guarding(reconnecting: String) throws -> RunningProgram {
      let guarding = try bus.start(
        "guard", "a.b",
        "--reconnect=\(reconnecting)", "--", "sh", "-c",
        "echo started; \(gate.wait); exit 3")
      #expect(try guarding.output.line() == "started")
      return guarding
    }
    // An answer may take 5 s. When the second gives up, the first is past that time.
    let (first, second) = (try guarding(reconnecting: "1min"), try guarding(reconnecting: "6s"))
    #expect(bus.end(SIGKILL) == -SIGKILL)
    try gate.open()
    #expect(second.status() == 3)
    #expect(try second.errors.rest().contains("no bus was found within 6s"))
    let next = try TestBus(folder: bus.folder)
    #expect(first.status() == 3)
    #expect(try first.errors.rest() == "tribunectl: reconnected to the bus\n")
    #expect(try next.tribunectl("-j", "status").output.contains("\"posted\":1,"))
  }

  private func announcing(
    timeout: String, command: [String] = ["echo", "ran"]
  ) throws -> (guarding: RunningProgram, client: RawClient, will: RawClient.Frame) {
    let path = "\(bus.folder.path)/played"
    let listener = try UnixSocket.listening(at: path)
    let guarding = try bus.start(
      ["--address=unix:\(path)", "guard", "a.b", "--timeout=\(timeout)", "--"] + command)
    let client = try RawClient.welcoming(at: listener)
    let decision = AccessEntry(
      decision: .exempt, line: AccessLine(), subject: AccessSubject(uid: 0, groups: [], unit: ""))
    for _ in 0..<4 {
      let list = try client.next(.list)
      try client.send(Entry.access(decision), serial: list.header.serial)
      try client.send(Okay(), serial: list.header.serial)
    }
    let ask = try client.next(.ask)
    try client.send(
      Verdict(query: QueryID(rawValue: 1), verdict: .allowed, isUnanswered: true, outcomes: []),
      serial: ask.header.serial)
    let will = try client.next(.post)
    #expect(will.name == "a.willB")
    return (guarding, client, will)
  }

  @Test("if `will` is not acknowledged in time, the guard announces a failure")
  func unacknowledgedWill() throws {
    let (guarding, client, _) = try announcing(timeout: "300ms")
    let end = try client.next(.post)
    #expect(end.name == "a.didFailToB")
    #expect(end.payload == "{\"status\":255}")
    try client.send(Okay(), serial: end.header.serial)
    #expect(guarding.status() == 255)
    #expect(try guarding.output.rest() == "")
  }

  @Test("a guard that a signal ends after it announced `will` announces the failure")
  func interruptedBehindWill() throws {
    let (guarding, client, will) = try announcing(timeout: "1min", command: ["sleep", "1000"])
    guarding.signal(SIGTERM)
    var watched = pollfd(fd: client.rawDescriptor, events: Int16(POLLIN), revents: 0)
    #expect(unsafe poll(&watched, 1, 500) == 0)
    try client.send(Okay(), serial: will.header.serial)
    let end = try client.next(.post)
    #expect(end.name == "a.didFailToB" && end.payload == "{\"signal\":15}")
    try client.send(Okay(), serial: end.header.serial)
    client.endSending()
    #expect(try client.readToEnd().isEmpty)
    #expect(guarding.status() == 128 + SIGTERM)
  }

  @Test("if the bus refuses `will`, nothing runs and no failure is announced")
  func refusedWill() throws {
    let (guarding, client, will) = try announcing(timeout: "1min")
    try client.send(Refusal(.invalidValue), serial: will.header.serial, text: "not that")
    #expect(try client.readToEnd().isEmpty)
    #expect(guarding.status() == 255)
    #expect(try guarding.errors.rest().contains("not that"))
    #expect(try guarding.output.rest() == "")
  }
}

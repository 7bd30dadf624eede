// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneSystem
import TribuneWire

/// Each way out of `tribunectl guard`: what it exits with, what it has announced, and what it says.
@Suite("A guard's ways out", .timeLimit(.minutes(3)))
struct GuardEndingTests {
  /// One way, with a bus that stays.
  struct Way: Sendable, CustomTestStringConvertible {
    var description: String
    /// What a delegate of `a.shouldB` answers with; nil is that there is none.
    var delegate: String?
    var options: [String] = []
    var command: [String]
    var status: Int32
    var announced: [String]
    var errors = ""

    var testDescription: String { description }
  }

  static let ways = [
    Way(
      description: "allowed", delegate: "exit 0", command: ["true"], status: 0,
      announced: ["a.willB null", "a.didB null"]),
    Way(
      description: "allowed, since nobody is there", command: ["true"], status: 0,
      announced: ["a.willB null", "a.didB null"]),
    Way(
      description: "vetoed", delegate: "echo no; exit 1", command: ["true"], status: 77, announced: [],
      errors: "tribunectl: a.b was vetoed:\n"),
    Way(
      description: "vetoed, with a status of its own", delegate: "exit 1", options: ["--veto-exit-code=3"],
      command: ["true"], status: 3, announced: [], errors: "tribunectl: a.b was vetoed:\n"),
    Way(
      description: "vetoed by a failure", delegate: "exit 3", command: ["true"], status: 77, announced: [],
      errors: "exited with 3"),
    Way(
      description: "the command fails", command: ["sh", "-c", "exit 7"], status: 7,
      announced: ["a.willB null", "a.didFailToB {\"status\":7}"]),
    Way(
      description: "the command is killed", command: ["sh", "-c", "kill -KILL $$"], status: 128 + SIGKILL,
      announced: ["a.willB null", "a.didFailToB {\"signal\":9}"]),
    Way(
      description: "the command is not there", command: ["/nonexistent"], status: 127,
      announced: ["a.willB null", "a.didFailToB {\"status\":127}"], errors: "/nonexistent cannot be run"),
    Way(
      description: "the command cannot be run", command: ["/etc/passwd"], status: 126,
      announced: ["a.willB null", "a.didFailToB {\"status\":126}"], errors: "/etc/passwd cannot be run"),
    Way(
      description: "the query is refused", options: ["--timeout=2h"], command: ["true"], status: 255,
      announced: [], errors: "over the limit"),
  ]

  /// `name userInfo` of what was announced, up to an end that the test posts.
  private static func announced(to observer: RunningProgram) throws -> [String] {
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

  /// Runs a program with no signal blocked; whoever runs the tests may have some.
  private static let unblocked = [
    "/usr/bin/env", "python3", "-c",
    "import os, signal, sys; signal.pthread_sigmask(signal.SIG_SETMASK, []); os.execv(sys.argv[1], sys.argv[1:])",
  ]

  private static func guarding(_ bus: TestBus, command: String) throws -> RunningProgram {
    try RunningProgram(
      unblocked + [
        try Programs.path(of: "tribunectl"), "--address=\(bus.address)", "guard", "a.b", "--", "sh", "-c",
        command,
      ])
  }

  @Test("is as the table has it", arguments: ways)
  func table(way: Way) throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "**")
    let delegate = try way.delegate.map {
      try bus.staying("delegate", "a.shouldB", "--exec", "sh", "-c", $0)
    }
    let result = try TestBus.tribunectl(
      ["guard", "a.b"] + way.options + ["--"] + way.command, address: bus.address)
    #expect(result.status == way.status)
    #expect(way.errors.isEmpty ? result.errors == "" : result.errors.contains(way.errors))
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(try Self.announced(to: observer) == way.announced)
    withExtendedLifetime(delegate) {}
  }

  @Test("a signal while it asks takes the query back", arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func interruptedAsking(signal: CInt) throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "**")
    let delegate = try bus.staying(
      "-j", "delegate", "**", "--timeout=1min", "--exec", "sh", "-c", "echo asked >&2; exec sleep 1000")
    let guarding = try Self.guarding(bus, command: "echo ran")
    #expect(try delegate.errors.line() == "asked")
    #expect(guarding.end(signal) == 128 + signal)
    #expect(try guarding.output.rest() == "")
    #expect(try delegate.output.line()?.contains("\"answer\":\"withdrawn\"") == true)
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(try Self.announced(to: observer) == [])
  }

  @Test("a signal while the command runs is the command's", arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func interruptedRunning(signal: CInt) throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "**")
    let guarding = try Self.guarding(bus, command: "echo started; exec sleep 1000")
    #expect(try guarding.output.line() == "started")
    #expect(guarding.end(signal) == 128 + signal)
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(
      try Self.announced(to: observer) == ["a.willB null", "a.didFailToB {\"signal\":\(signal)}"])
  }

  @Test(
    "a signal that was ignored when it started stays so, for the command too",
    arguments: [("INT", SIGINT), ("QUIT", SIGQUIT), ("HUP", SIGHUP)])
  func ignored(name: String, signal: CInt) throws {
    let bus = try TestBus()
    let gate = try ShellGate()
    let delegate = try bus.staying(
      "delegate", "a.shouldB", "--timeout=1min", "--exec", "sh", "-c",
      "echo asked >&2; \(gate.wait)")
    let guarding = try RunningProgram(
      Self.unblocked + [
        "/bin/sh", "-c", "trap '' \(name); exec \"$@\"", "sh", try Programs.path(of: "tribunectl"),
        "--address=\(bus.address)", "guard", "a.b", "--", "sh", "-c", "kill -\(name) $$; exit 5",
      ])
    #expect(try delegate.errors.line() == "asked")
    guarding.signal(signal)
    try gate.open()
    #expect(guarding.status() == 5)
  }

  @Test("without a bus nothing runs")
  func busGoneBefore() throws {
    let result = try TestBus.tribunectl(
      ["guard", "a.b", "--", "echo", "ran"], address: "unix:/nonexistent/bus")
    #expect(result.status == 255)
    #expect(result.output == "")
    #expect(result.errors.hasPrefix("tribunectl: "))
  }

  @Test("a bus that goes while it asks gives no verdict, and nothing runs")
  func busGoneAsking() throws {
    let bus = try TestBus()
    let delegate = try bus.staying(
      "--reconnect=0", "delegate", "a.shouldB", "--exec", "sh", "-c",
      "kill -KILL \(bus.pid); exec sleep 1000")
    let result = try bus.tribunectl("guard", "a.b", "--", "echo", "ran")
    #expect(result.status == 255)
    #expect(result.output == "")
    #expect(delegate.status() == 1)
  }

  @Test("a bus that goes for good while the command runs does not change how that ends, and it is said")
  func busGoneRunning() throws {
    let bus = try TestBus()
    let result = try bus.tribunectl(
      "guard", "a.b", "--reconnect=0", "--", "sh", "-c", "kill -KILL \(bus.pid); echo ran; exit 4")
    #expect(result.status == 4)
    #expect(result.output == "ran\n")
    #expect(result.errors.hasPrefix("tribunectl: a.didFailToB could not be posted: "))
  }

  @Test(
    "a bus that comes back while the command runs is told how it has ended",
    arguments: [(0, "a.didB null"), (4, "a.didFailToB {\"status\":4}")] as [(Int32, String)])
  func busBack(status: Int32, announced: String) throws {
    let (folder, gate) = (try TestFolder(), try ShellGate())
    let bus = try TestBus(folder: folder)
    let guarding = try Self.guarding(
      bus, command: "echo started; \(gate.wait); exit \(status)")
    #expect(try guarding.output.line() == "started")
    bus.signal(SIGKILL)
    _ = bus.waitForEnd()
    let next = try TestBus(folder: folder)
    let observer = try next.staying("-j", "observe", "**")
    try gate.open()
    #expect(guarding.status() == status)
    #expect(try guarding.errors.rest() == "tribunectl: connected to the bus again\n")
    #expect(try next.tribunectl("post", "end").status == 0)
    #expect(try Self.announced(to: observer) == [announced])
  }

  @Test(
    "a bus is waited for as long as it is looked for, also when that is longer than it has for its answer")
  func busBackLate() throws {
    let (folder, gate) = (try TestFolder(), try ShellGate())
    let bus = try TestBus(folder: folder)
    func guarding(reconnecting: String) throws -> RunningProgram {
      let guarding = try bus.start(
        "guard", "a.b",
        "--reconnect=\(reconnecting)", "--", "sh", "-c",
        "echo started; \(gate.wait); exit 3")
      #expect(try guarding.output.line() == "started")
      return guarding
    }
    // The answer has 5 s. When the second has given up, they are over for the first.
    let (first, second) = (try guarding(reconnecting: "1min"), try guarding(reconnecting: "6s"))
    bus.signal(SIGKILL)
    #expect(bus.waitForEnd() == -SIGKILL)
    try gate.open()
    #expect(second.status() == 3)
    #expect(try second.errors.rest().contains("none has been there within 6s"))
    let next = try TestBus(folder: folder)
    #expect(first.status() == 3)
    #expect(try first.errors.rest() == "tribunectl: connected to the bus again\n")
    #expect(try next.tribunectl("-j", "status").output.contains("\"posted\":1,"))
  }

  @Test("a bus that is looked for in vain is not waited for longer than that")
  func busNotFound() throws {
    let gate = try ShellGate()
    let bus = try TestBus()
    let guarding = try bus.start(
      "guard", "a.b", "--reconnect=3s", "--",
      "sh", "-c", "kill -KILL \(bus.pid); \(gate.wait); exit 3")
    #expect(bus.waitForEnd() == -SIGKILL)
    // What listens there never answers, so that another connection would be waited for.
    try FileManager.default.removeItem(atPath: bus.path)
    let listener = try UnixSocket.listening(at: bus.path)
    try gate.open()
    #expect(guarding.status() == 3)
    let errors = try guarding.errors.rest()
    #expect(errors.hasPrefix("tribunectl: a.didFailToB could not be posted: "))
    #expect(errors.contains("none has been there within 3s"))
    withExtendedLifetime(listener) {}
  }

  // MARK: A bus that takes its time with will

  /// A guard whose query has been allowed, and the bus's side of its connection, where `will` has come.
  private static func announcing(
    timeout: String
  ) throws -> (guarding: RunningProgram, client: RawClient, will: RawClient.Frame, folder: TestFolder) {
    let folder = try TestFolder()
    let listener = try UnixSocket.listening(at: "\(folder.path)/bus")
    let guarding = try RunningProgram([
      try Programs.path(of: "tribunectl"), "--address=unix:\(folder.path)/bus", "guard", "a.b",
      "--timeout=\(timeout)", "--", "echo", "ran",
    ])
    let client = try RawClient.welcoming(at: listener)
    _ = try client.allowNext()
    let will = try client.next(.post)
    #expect(will.name == "a.willB")
    return (guarding, client, will, folder)
  }

  @Test("where nobody knows whether will was announced, its failure is")
  func unacknowledgedWill() throws {
    let (guarding, client, _, folder) = try Self.announcing(timeout: "300ms")
    let end = try client.next(.post)
    #expect(end.name == "a.didFailToB")
    #expect(end.payload == "{\"status\":255}")
    try client.send(Okay(), serial: end.header.serial)
    #expect(guarding.status() == 255)
    #expect(try guarding.output.rest() == "")
    withExtendedLifetime(folder) {}
  }

  @Test("what the bus refuses to announce has not been announced, and nothing runs")
  func refusedWill() throws {
    let (guarding, client, will, folder) = try Self.announcing(timeout: "1min")
    try client.send(Refusal(.invalidValue), serial: will.header.serial, text: "not that")
    #expect(try client.readToEnd().isEmpty)
    #expect(guarding.status() == 255)
    #expect(try guarding.errors.rest().contains("not that"))
    #expect(try guarding.output.rest() == "")
    withExtendedLifetime(folder) {}
  }
}

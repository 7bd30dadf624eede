// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// `tribunectl guard`, against the real daemon.
@Suite("tribunectl guards", .timeLimit(.minutes(2)))
struct GuardingCommandTests {
  /// The names and userInfo of the next notifications.
  private static func next(_ count: Int, from observer: RunningProgram) throws -> [String] {
    try (0..<count).map { _ in
      let line = try observer.output.line() ?? ""
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let userInfo = try JSONSerialization.data(
        withJSONObject: object["userInfo"] ?? "", options: .fragmentsAllowed)
      return "\(object["name"] ?? "") \(object["object"] ?? "") \(String(decoding: userInfo, as: UTF8.self))"
    }
  }

  @Test("an allowed command runs between will and did, with all that it was given")
  func allowed() throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "window.**")
    let result = try bus.tribunectl(
      "guard", "window.close", "--object=w/1", "--", "sh", "-c", "echo \"$@\"; echo err >&2", "-",
      "--object=x", "-q")
    #expect(result.status == 0)
    #expect(result.output == "--object=x -q\n")
    #expect(result.errors == "err\n")
    #expect(try Self.next(2, from: observer) == ["window.willClose w/1 null", "window.didClose w/1 null"])
  }

  @Test(
    "a command that fails is announced with how it failed",
    arguments: [
      (["sh", "-c", "exit 3"], 3, #"{"status":3}"#),
      (["sh", "-c", "kill -9 $$"], 128 + SIGKILL, #"{"signal":9}"#),
      (["/nonexistent"], 127, #"{"status":127}"#), (["/etc/passwd"], 126, #"{"status":126}"#),
    ] as [([String], Int32, String)])
  func failed(command: [String], status: Int32, userInfo: String) throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "**")
    #expect(
      try TestBus.tribunectl(["guard", "prune", "--"] + command, address: bus.address).status == status)
    #expect(try Self.next(2, from: observer) == ["willPrune  null", "didFailToPrune  \(userInfo)"])
  }

  @Test("a veto prints every reason, runs nothing and announces nothing")
  func vetoed() throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "**")
    let delegates = [
      try bus.staying("delegate", "a.shouldB", "--veto=one\u{1B}", "--label=first"),
      try bus.staying("delegate", "**", "--approve"), try bus.staying("delegate", "a.*", "--veto=two"),
    ]
    let result = try bus.tribunectl("guard", "a.b", "--object=x", "--", "echo", "ran")
    #expect(result.status == 77)
    #expect(result.output == "")
    #expect(result.errors.hasPrefix("tribunectl: a.b x was vetoed:\n"))
    #expect(result.errors.contains("vetoed by first (tribunectl, pid \(delegates[0].pid), uid \(getuid())"))
    #expect(result.errors.contains("): one\\u{1b}\n"))
    #expect(result.errors.contains("): two\n"))
    #expect(!result.errors.contains("approved"))
    #expect(try bus.tribunectl("guard", "a.b", "--veto-exit-code=9", "--", "echo", "ran").status == 9)
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(try Self.next(1, from: observer) == ["end  null"])
  }

  @Test("without a verdict nothing runs")
  func noVerdict() throws {
    let nowhere = try TestBus.tribunectl(
      ["guard", "a.b", "--", "echo", "ran"], address: "unix:/nonexistent/bus")
    #expect(nowhere.status == 255)
    #expect(nowhere.output == "")
    let bus = try TestBus()
    bus.signal(SIGSTOP)
    let silent = try bus.tribunectl("guard", "a.b", "--timeout=200ms", "--", "echo", "ran")
    #expect(silent.status == 255)
    #expect(silent.output == "")
    bus.signal(SIGCONT)
  }

  @Test(
    "signals are the command's, and its end is the guard's",
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2])
  func signals(signal: CInt) throws {
    let bus = try TestBus()
    let observer = try bus.staying("-j", "observe", "**")
    let program = try RunningProgram([
      try Programs.path(of: "tribunectl"), "--address=\(bus.address)", "guard", "a.b", "--", "sh", "-c",
      "trap 'echo trapped; exit 5' \(signal); echo started; while :; do sleep 0.01; done",
    ])
    #expect(try program.output.line() == "started")
    program.signal(signal)
    #expect(try program.output.line() == "trapped")
    #expect(program.status() == 5)
    #expect(try Self.next(2, from: observer) == ["a.willB  null", "a.didFailToB  {\"status\":5}"])
  }

  @Test("a signal while the delegates are asked means that nothing runs")
  func earlySignal() throws {
    let bus = try TestBus()
    let delegate = try bus.staying(
      "-j", "delegate", "**", "--exec", "sh", "-c", "echo asked >&2; exec sleep 1000")
    let program = try RunningProgram([
      try Programs.path(of: "tribunectl"), "--address=\(bus.address)", "guard", "a.b", "--", "echo", "ran",
    ])
    #expect(try delegate.errors.line() == "asked")
    program.signal(SIGTERM)
    #expect(program.status() == 128 + SIGTERM)
    #expect(try program.output.rest() == "")
    // The query goes with the guard.
    #expect(try delegate.output.line()?.contains("\"answer\":\"withdrawn\"") == true)
  }

  @Test("a bus that goes while the command runs does not change how it ends, and that is said")
  func busGoes() throws {
    let bus = try TestBus()
    let result = try bus.tribunectl(
      "guard", "a.b", "--reconnect=0", "--", "sh", "-c", "kill -KILL \(bus.pid); exit 4")
    #expect(result.status == 4)
    #expect(result.errors.contains("a.didFailToB could not be posted"))
  }

  @Test("should, will and did come from one connection")
  func oneConnection() throws {
    let bus = try TestBus()
    let monitor = try bus.staying("-j", "monitor")
    #expect(try bus.tribunectl("guard", "a.b", "--", "true").status == 0)
    var senders: [String: String] = [:]
    while senders["a.didB"] == nil {
      let line = try #require(try monitor.output.line())
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      if let name = object["name"] as? String, let from = object["from"] as? String { senders[name] = from }
    }
    #expect(Set(senders.keys).isSuperset(of: ["a.shouldB", "a.willB", "a.didB"]))
    #expect(Set(senders.values).count == 1)
  }
}

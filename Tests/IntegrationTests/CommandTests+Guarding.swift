// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneTestSupport

/// `tribunectl guard`, against the real daemon.
@Suite("tribunectl guards", .timeLimit(.minutes(2)))
struct GuardingCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  /// The names, objects and userInfo of the next notifications.
  private static func next(_ count: Int, from observer: RunningProgram) throws -> [String] {
    try (0..<count).map { _ in
      let object = try observer.output.object()
      let userInfo = try JSONSerialization.data(
        withJSONObject: object["userInfo"] ?? "", options: .fragmentsAllowed)
      return "\(object["name"] ?? "") \(object["object"] ?? "") \(String(decoding: userInfo, as: UTF8.self))"
    }
  }

  @Test("an allowed command runs between will and did, with all its arguments")
  func allowed() throws {
    let observer = try bus.staying("-j", "observe", "window.**")
    let result = try bus.tribunectl(
      "guard", "window.close", "--object=w/1", "--", "sh", "-c", "echo \"$@\"; echo err >&2", "-",
      "--object=x", "-q")
    result.expect(0, output: "--object=x -q\n", errors: "err\n")
    #expect(try Self.next(2, from: observer) == ["window.willClose w/1 null", "window.didClose w/1 null"])
  }

  @Test("a veto prints every reason, runs nothing and announces nothing")
  func vetoed() throws {
    let observer = try bus.staying("-j", "observe", "**")
    let delegates = [
      try bus.staying("delegate", "a.shouldB", "--veto=one\u{1B}", "--label=first"),
      try bus.staying("delegate", "**", "--approve"), try bus.staying("delegate", "a.*", "--veto=two"),
    ]
    let result = try bus.tribunectl("guard", "a.b", "--object=x", "--", "echo", "ran")
    result.expect(77, output: "")
    #expect(result.errors.hasPrefix("tribunectl: a.b x was vetoed:\n"))
    #expect(result.errors.contains("vetoed by first (tribunectl, pid \(delegates[0].pid), uid \(getuid())"))
    #expect(result.errors.contains("): one\\u{1b}\n"))
    #expect(result.errors.contains("): two\n"))
    #expect(!result.errors.contains("approved"))
    #expect(try bus.tribunectl("post", "end").status == 0)
    #expect(try Self.next(1, from: observer) == ["end  null"])
  }

  @Test(
    "the command gets the signals of a guard or a hold, which has the command's exit status",
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2], [["guard"], ["hold", "--why=c"]])
  func signals(signal: CInt, verb: [String]) throws {
    let observer = try bus.staying("-j", "observe", "**")
    let program = try bus.start(
      verb + [
        "a.b", "--", "sh", "-c",
        "trap 'echo trapped; exit 5' \(signal); echo started; while :; do sleep 0.01; done",
      ])
    #expect(try program.output.line() == "started")
    program.signal(signal)
    #expect(try program.output.line() == "trapped")
    #expect(program.status() == 5)
    let announced = verb[0] == "guard" ? ["a.willB  null", "a.didFailToB  {\"status\":5}"] : []
    #expect(try Self.next(announced.count, from: observer) == announced)
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
}

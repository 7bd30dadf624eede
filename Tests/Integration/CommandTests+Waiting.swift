// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@Suite("tribunectl waits for awaited observers", .timeLimit(.minutes(15)))
struct WaitingCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  @Test(
    "the bus receives the poster's options, and an observer receives the post once",
    arguments: [
      ([], nil), (["--style=now"], nil), (["--style=asap"], ["as soon as possible"]),
      (["--style=idle", "--coalesce=name"], ["when idle", "coalesced by name"]),
      (["--coalesce=object"], ["coalesced by object"]),
      (["--coalesce=object,name"], ["coalesced by name", "coalesced by object"]),
      (["--immediately"], ["immediately"]), (["--retain"], ["retained"]),
      (["--wait=3s", "--retain", "--immediately"], ["immediately", "retained", "awaited"]),
      (["--wait"], ["awaited"]),
    ] as [([String], [String]?)])
  func wishes(options: [String], expected: [String]?) throws {
    let observer = try bus.staying("observe", "a", "-N1")
    let monitor = try bus.staying("-j", "monitor", "a")
    let post = try TestBus.tribunectl(["post", "a", "[1]", "--object=o"] + options, address: bus.address)
    #expect(post.status == 0)
    #expect(post.output + post.errors == "")
    let seen = try monitor.output.object()
    #expect(seen["kind"] as? String == "post")
    #expect(seen["wishes"] as? [String] == expected)
    #expect(try observer.output.rest().hasSuffix("  a  o  [1]\n"))
    #expect(observer.status() == 0)
  }

  @Test(
    "with -, userInfo of any length comes from standard input",
    arguments: [("printf '[1]'", "3\n"), ("printf '\"%0300000d\"' 1", "300002\n")])
  func standardInput(writer: String, received: String) async throws {
    let observer = try bus.staying("observe", "a", "-N1", "--exec", "wc", "-c")
    let script = "\(writer) | \"$0\" --address='\(bus.address)' post a -"
    let post = try await Script.run(["bash", "-c", script, try Programs.path(of: "tribunectl")])
    #expect(post.status == 0, "\(post.output)")
    #expect(try observer.output.rest() == received)
    #expect(observer.status() == 0)
  }

  @Test("standard input that is not JSON is refused before tribunectl connects", arguments: ["", "{"])
  func wrongStandardInput(text: String) async throws {
    let script = "printf '%s' '\(text)' | \"$0\" --address=unix:/nonexistent/bus post a -"
    let post = try await Script.run(["bash", "-c", script, try Programs.path(of: "tribunectl")])
    #expect(post.status == 2)
    #expect(post.output.hasPrefix("tribunectl: standard input is not JSON: "))
  }

  @Test("a post names each observer without an acknowledgement, and the reason")
  func missing() throws {
    let observers = [
      try bus.staying("observe", "a", "--awaited"),
      try bus.staying("observe", "a", "--awaited", "--exec", "sh", "-c", "exit 3"),
      try bus.staying("observe", "a", "--awaited", "--exec", "sh", "-c", "kill -KILL $PPID"),
      try bus.staying("observe", "a", "--awaited", "--exec", "sleep", "1000"),
    ]
    let post = try bus.tribunectl("post", "a", "[1]", "--wait=1s", "--object=o")
    post.expect(1, output: "")
    let lines = post.errors.split(separator: "\n")
    #expect(lines.first == "tribunectl: 3 of 4 did not acknowledge a o:")
    #expect(lines.count == 4)
    for (observer, words) in zip(observers.dropFirst(), ["failed    ", "gone      ", "timedOut  "]) {
      let line = try #require(lines.first { $0.contains("pid \(observer.pid), ") })
      #expect(line.hasPrefix("  \(words)tribunectl (:"))
      #expect(line.contains("uid \(getuid())"))
      #expect(line.contains("): exited with 3  [") == (words == "failed    "))
    }
    #expect(observers[3].end(SIGTERM) == 0)
  }

  @Test("if the bus refuses the post, only the refusal is printed")
  func refused() throws {
    let bus = try TestBus(configuration: "[Notifications]\nRetainedMax=4K\n")
    let long = "\"" + String(repeating: "x", count: 8192) + "\""
    for (options, status) in [(["--retain"], 1), (["--retain", "--wait"], 255)] as [([String], Int32)] {
      let post = try TestBus.tribunectl(["post", "a", long] + options, address: bus.address)
      #expect(post.status == status)
      #expect(post.errors.hasPrefix("tribunectl: "))
      #expect(!post.errors.contains("acknowledge"))
    }
  }

  @Test("a guard runs its command when the observers of `will` are done")
  func guarded() throws {
    let folder = try TestFolder()
    let files = ["one", "two"].map { "\(folder.path)/\($0)" }
    for file in files { try bus.staying("observe", "a.willB", "--awaited", "--exec", "touch", file) }
    let guarding = try bus.tribunectl(
      "guard", "a.b", "--wait", "--object=o", "--", "test", "-e", files[0], "-a", "-e", files[1])
    guarding.expect(0, errors: "")
  }

  @Test("a guard names observers without an acknowledgement, and still runs its command")
  func goesOn() throws {
    let witness = try bus.staying("-j", "observe", "a.*")
    let failing = try bus.staying("observe", "a.willB", "--awaited", "--exec", "false")
    let silent = try bus.staying("observe", "a.willB", "--awaited", "--exec", "sleep", "1000")
    let guarding = try bus.tribunectl("guard", "a.b", "--object=o", "--wait=200ms", "--", "echo", "ran")
    guarding.expect(0, output: "ran\n")
    let lines = guarding.errors.split(separator: "\n")
    #expect(lines.first == "tribunectl: 2 of 2 did not acknowledge a.willB o:")
    #expect(lines.contains { $0.contains("failed    ") && $0.contains("pid \(failing.pid), ") })
    #expect(lines.contains { $0.contains("timedOut  ") && $0.contains("pid \(silent.pid), ") })
    for name in ["a.willB", "a.didB"] {
      #expect(try witness.output.line()?.hasPrefix("{\"name\":\"\(name)\"") == true)
    }
    #expect(silent.end(SIGTERM) == 0)
  }

  @Test("a guard without --wait waits for no observer")
  func withoutWaiting() throws {
    let silent = try bus.staying("observe", "a.willB", "--awaited", "--exec", "sleep", "1000")
    try bus.tribunectl("guard", "a.b", "--", "echo", "ran").expect(0, errors: "")
    #expect(silent.end(SIGTERM) == 0)
  }

  @Test(
    "a signal while a guard waits: the command does not run, and the guard announces the failure",
    arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
  func interrupted(signal: CInt) throws {
    let witness = try bus.staying("-j", "observe", "a.*")
    let observer = try bus.staying(
      "observe", "a.willB", "--awaited", "--exec", "sh", "-c", "echo asked; exec sleep 1000")
    let guarding = try bus.start("guard", "a.b", "--wait=10min", "--", "echo", "ran")
    #expect(try observer.output.line() == "asked")
    #expect(guarding.end(signal) == 128 + signal)
    #expect(try guarding.output.rest() == "")
    #expect(try guarding.errors.rest() == "")
    #expect(try witness.output.line()?.hasPrefix("{\"name\":\"a.willB\"") == true)
    let failure = try #require(try witness.output.line())
    #expect(failure.hasPrefix("{\"name\":\"a.didFailToB\""))
    #expect(failure.hasSuffix("\"userInfo\":{\"signal\":\(signal)}}"))
    #expect(observer.end(SIGTERM) == 0)
  }

  @Test("if the bus dies while a guard waits, nothing runs")
  func busGoes() throws {
    let observer = try bus.staying(
      "observe", "a.willB", "--awaited", "--exec", "sh", "-c", "kill -KILL \(bus.pid)")
    try bus.tribunectl("--reconnect=100ms", "guard", "a.b", "--wait=1min", "--", "echo", "ran")
      .expect(255, output: "")
    observer.signal(SIGTERM)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import Tribune
import TribuneWire

@Suite("An observer's commands", .timeLimit(.minutes(15)))
struct HandlingCommandTests {
  private let bus: TestBus

  init() throws { bus = try TestBus() }

  private static func letRead(_ observer: RunningProgram, over connection: Connection) async throws {
    while try await connection.connections().contains(where: { $0.pid == observer.pid && $0.queuedBytes > 0 })
    {}
  }

  @Test("the command runs for each notification, in order, one at a time, and -N counts the runs")
  func order() throws {
    let folder = try TestFolder()
    // mkdir fails if two commands run at the same time.
    let script =
      "mkdir \(folder.path)/lock || exit 1; printf '%s ' \"$TRIBUNE_NAME\"; cat; echo; "
      + "rmdir \(folder.path)/lock"
    let observer = try bus.staying("observe", "**", "-N", "20", "--exec", "sh", "-c", script)
    let client = try RawClient.greeted(bus)
    for number in 1...20 {
      try client.send(Post(), serial: Serial(number), name: "n\(number)", text: "\(number)")
    }
    #expect(
      try observer.output.rest().split(separator: "\n")
        == (1...20).map { "n\($0) \($0)" }[...].map { $0[...] })
    #expect(observer.status() == 0)
    #expect(try observer.errors.rest() == "")
  }

  @Test("a command reads the userInfo from standard input, and the rest from its environment")
  func environment() throws {
    #expect(try bus.tribunectl("post", "a.b", "[1]", "--retain", "--object=o p").status == 0)
    let observer = try bus.start(
      [
        "--address=\(bus.address)", "observe", "a.**", "--retained", "--exec", "sh", "-c",
        "echo \"$TRIBUNE_NAME|$TRIBUNE_OBJECT|$TRIBUNE_SENDER|$TRIBUNE_LOST|${TRIBUNE_RETAINED-no}|"
          + "$TRIBUNE_ADDRESS|$(cat)\"",
      ],
      environment: [
        "TRIBUNE_RETAINED": "x", "TRIBUNE_LOST": "9", "TRIBUNE_OBJECT": "x", "TRIBUNE_ADDRESS": "x",
      ])
    #expect(try observer.output.line() == "a.b|o p|:1|0|1|\(bus.address)|[1]")
    #expect(try bus.tribunectl("post", "a.c").status == 0)
    let line = try #require(try observer.output.line())
    #expect(line.wholeMatch(of: /a\.c\|\|:\d+\|0\|no\|unix:.*\|/) != nil)
  }

  @Test("a long userInfo reaches a command that reads it, and does not delay one that does not")
  func longUserInfo() async throws {
    let observer = try bus.staying(
      "observe", "a", "b", "-N3", "--exec", "sh", "-c", "test $TRIBUNE_NAME = a || wc -c")
    let connection = try await bus.connect()
    let bytes = [UInt8](repeating: 0x61, count: 1 << 20)
    for name in ["a", "b", "a"] {
      try await connection.postAcknowledged(name, userInfo: UserInfo(bytes))
      try await Self.letRead(observer, over: connection)
    }
    #expect(observer.status() == 0)
    #expect(try observer.output.rest() == "\(bytes.count)\n")
    await connection.close()
  }

  @Test("notifications that come faster than commands end wait, and none is dropped")
  func slow() async throws {
    let gate = try ShellGate()
    let observer = try bus.staying(
      "observe", "**", "--exec", "sh", "-c",
      "test $TRIBUNE_NAME != first || { echo started; \(gate.wait); }; "
        + "echo $TRIBUNE_NAME $TRIBUNE_LOST")
    let connection = try await bus.connect()
    try await connection.postAcknowledged("first")
    #expect(try observer.output.line() == "started")
    let posted = 16
    let bytes = [UInt8](repeating: 0x61, count: 8 << 20)
    for number in 1...posted {
      try await connection.postAcknowledged("n\(number)", userInfo: UserInfo(bytes))
      try await Self.letRead(observer, over: connection)
    }
    try await connection.postAcknowledged("end")
    try gate.open()
    for name in ["first"] + (1...posted).map({ "n\($0)" }) + ["end"] {
      #expect(try observer.output.line() == "\(name) 0")
    }
    #expect(observer.end(SIGTERM) == 0)
    #expect(try observer.errors.rest() == "")
    await connection.close()
  }

  @Test(
    "a command that can no longer start ends the observer with a shell's status, and acknowledges nothing",
    arguments: [(nil, 127), (0o644, 126)] as [(Int?, Int32)])
  func cannotStart(mode: Int?, status: Int32) throws {
    try bus.folder.write("#!/bin/sh\n", to: "command", mode: 0o755)
    let path = "\(bus.folder.path)/command"
    let observer = try bus.staying("observe", "a", "--awaited", "--exec", path)
    if let mode {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    } else {
      try FileManager.default.removeItem(atPath: path)
    }
    let post = try bus.tribunectl("post", "a", "--wait=1min")
    #expect(post.status == 1)
    #expect(post.errors.hasPrefix("tribunectl: 1 of 1 did not acknowledge a:\n  failed    tribunectl (:"))
    #expect(post.errors.contains("): \(path) cannot be run: "))
    #expect(observer.status() == status)
    #expect(try observer.errors.rest().hasPrefix("tribunectl: \(path) cannot be run: "))
  }

  @Test(
    "a signal, or the time limit of -N, ends the running command; no other starts",
    arguments: [SIGINT, SIGTERM, SIGHUP, nil])
  func interrupted(signal: CInt?) throws {
    let observer = try bus.staying(
      ["observe", "**", "--awaited"] + (signal == nil ? ["-N3", "--timeout=2s"] : []) + [
        "--exec", "sh", "-c",
        "exec 2>/dev/null; trap 'echo ended $TRIBUNE_NAME; exit 4' TERM; echo $TRIBUNE_NAME; while :; do sleep 0.01; done",
      ])
    let first = try bus.start("-j", "post", "first", "--wait=1min")
    #expect(try observer.output.line() == "first")
    #expect(try bus.tribunectl("post", "second").status == 0)
    if let signal { observer.signal(signal) }
    #expect(observer.status() == (signal == nil ? 1 : 0))
    #expect(try observer.output.rest() == "ended first\n")
    let late = "tribunectl: fewer than 3 notifications came within 2s\n"
    #expect(try observer.errors.rest() == (signal == nil ? late : ""))
    #expect(first.status() == 1)
    #expect(try first.output.rest().contains(#""failure":"failed","reason":"exited with 4""#))
  }

  @Test("a signal ends the observer, even if its command ignores SIGTERM")
  func stubborn() throws {
    let observer = try bus.staying(
      "observe", "a", "--exec", "sh", "-c", "trap '' TERM; echo started; exec sleep 1000")
    #expect(try bus.tribunectl("post", "a").status == 0)
    #expect(try observer.output.line() == "started")
    #expect(observer.end(SIGTERM) == 0)
    #expect(try observer.output.rest() == "")
  }

  @Test("when the bus goes, the observer first handles what it received, then reports why it ends")
  func busGoes() throws {
    let gate = try ShellGate()
    let observer = try bus.staying(
      "observe", "a", "b", "--exec", "sh", "-c",
      "echo $TRIBUNE_NAME; test $TRIBUNE_NAME = b || \(gate.wait)")
    #expect(try bus.tribunectl("post", "a").status == 0)
    #expect(try observer.output.line() == "a")
    #expect(try bus.tribunectl("post", "b").status == 0)
    #expect(bus.stop() == 0)
    try gate.open()
    #expect(try observer.output.rest() == "b\n")
    #expect(observer.status() == 1)
    #expect(try observer.errors.rest().hasPrefix("tribunectl: "))
  }
}

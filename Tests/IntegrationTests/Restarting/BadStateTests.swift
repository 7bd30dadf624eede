// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneWire

/// A daemon that is passed a state, or descriptors, that are not what they should be starts, says what it dropped,
/// and serves.
@Suite("Bad states", .timeLimit(.minutes(3)))
struct BadStateTests {
  private let bus: RestartedBus
  private let clients: [RawClient]

  /// A bus on which there is something of everything.
  init() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nStateMax=1M\n[Notifications]\nRetainedMax=512K\nRetainedUserMax=256K\n")
    self.bus = bus
    clients = try (0..<3).map { _ in try RawClient(path: bus.path) }
    for client in clients { try client.greet() }
    try clients[0].observe("load.*", serial: 1)
    try clients[1].attach(Attach(timeout: 60_000, patterns: ["a.shouldB"]), serial: 1)
    try clients[1].send(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    try clients[1].settle()
    try clients[2].send(Ask(deadline: 60_000), serial: 1, name: "a.shouldB")
    _ = try clients[1].nextQuestion()
    try clients[2].send(
      Post(options: .retain), serial: 2, flags: .acknowledge, name: "unit.state", text: "up")
    try clients[2].settle()
  }

  /// - Returns: the ids of a new connection and a new query.
  @discardableResult
  private func expectService() throws -> (connection: UInt64, query: UInt64) {
    let client = try RawClient(path: bus.path)
    let welcome = try client.greet()
    try client.observe("test.*", serial: 1)
    try client.send(Post(), serial: 2, name: "test.served")
    #expect(try client.next().name == "test.served")
    try client.send(Ask(), serial: 3, name: "test.shouldServe")
    return (welcome.connection.rawValue, try client.nextVerdict().query.rawValue)
  }

  @Test("whatever byte is not what it was, the bus serves, says what it cannot use, and gives no id twice")
  func spoiltBytes() throws {
    let last = try expectService()
    try bus.die()
    let pages = try bus.command("keep").dropFirst().compactMap { Int($0) }
    #expect(pages.count >= 3)
    // Others each time.
    let first = Int.random(in: 0..<37)
    var (dropCount, damageCount) = (0, 0)
    for page in pages {
      for offset in stride(from: page + first, to: page + 1024, by: 37) {
        let before = try bus.log().utf8.count
        try bus.command("spoil \(offset) \(1 << (offset % 8))")
        try bus.start()
        let ids = try expectService()
        let told = String(decoding: try bus.log().utf8.dropFirst(before), as: UTF8.self)
        if told.contains("cannot be taken over, and the bus starts without") {
          dropCount += 1
        } else {
          if told.contains("the state is damaged") { damageCount += 1 }
          #expect(ids.connection > last.connection, "byte \(offset)")
          #expect(ids.query > last.query, "byte \(offset)")
        }
        try bus.end(SIGKILL)
      }
    }
    // A header of which not a bit may be different, and records.
    #expect(dropCount > 0 && damageCount > 0)
    try bus.start()
  }

  @Test("a state that was cut", arguments: [0, 1, 100, 4096, 100_000, 8 << 20])
  func truncated(_ length: Int) throws {
    try bus.end(SIGTERM)
    try bus.command("cut \(length)")
    try bus.start()
    #expect(try bus.log().contains("cannot be taken over"))
    for client in clients { #expect(throws: RawClient.Ended.self) { while true { _ = try client.next() } } }
    try expectService()
    #expect(try bus.stored()["state"] == 1)
  }

  @Test(
    "connections that the state does not know are closed, and those of the state that are not there have gone"
  )
  func strangers() throws {
    try bus.end(SIGTERM)
    try bus.command("drop state")
    try bus.start()
    for client in clients { #expect(throws: RawClient.Ended.self) { while true { _ = try client.next() } } }
    #expect(try bus.log().contains("3 connections are closed of which the state does not know"))
    try expectService()

    let client = try RawClient.greeted(bus)
    try client.send(Hold(), serial: 1, name: "host.shouldReboot", text: "backup")
    _ = try client.next(.ok)
    try bus.end(SIGTERM)
    try bus.command("drop c")
    try bus.start()
    #expect(try bus.log().contains("1 connection of the state is not there any more"))
    let asker = try RawClient.greeted(bus)
    try asker.send(Ask(), serial: 1, name: "host.shouldReboot")
    #expect(try asker.nextVerdict().verdict == .allowed)
  }

  @Test(
    "what is not the bus's is closed, and said, and gone from the store if nothing else has its name",
    arguments: [
      ("c", "\"c\" (no connection)", true), ("f1", "\"f1\" (no sealed file in memory)", false),
      ("other", "\"other\" (no listening Unix stream socket)", false),
      ("state", "the state that was stored cannot be taken over", true),
    ])
  func foreign(_ name: String, complaint: String, stays: Bool) throws {
    try bus.end(SIGTERM)
    // Nothing of the bus's is one.
    try bus.command("add \(name) /dev/zero")
    let before = try bus.stored()
    try bus.start()
    try clients[1].settle()
    try expectService()
    #expect(try bus.log().contains(complaint))
    #expect(try !OpenFiles.paths(of: bus.pid).contains("/dev/zero"))
    try bus.end(SIGTERM)
    #expect(try bus.stored()[name] == (stays ? before[name] : nil))
    try bus.start()
    try clients[1].settle()
  }

  @Test("a hand-over of which what was under way is missing is a death without one")
  func missingStreams() throws {
    try bus.end(SIGTERM)
    for name in try bus.stored().keys where name.hasPrefix("f") { try bus.command("drop \(name)") }
    try bus.start()
    try clients[0].settle()
    try expectService()
  }

  @Test("a state that three daemons in a row have died of is dropped, and no other one is")
  func deadly() throws {
    try bus.die()
    // Those that come to serve in between, and die then, do not count.
    for _ in 0..<2 {
      for _ in 0..<2 { #expect(try bus.command("perish") == ["ended", "-\(SIGKILL)"]) }
      try bus.start()
      for client in clients { try client.settle() }
      try bus.die()
      try bus.start()
      try bus.die()
    }
    #expect(try !bus.log().contains("have died"))
    for _ in 0..<3 { #expect(try bus.command("perish") == ["ended", "-\(SIGKILL)"]) }
    try bus.start()
    #expect(
      try bus.log().contains(
        "cannot be taken over, and the bus starts without: 3 processes in a row have died while they recovered from it"
      ))
    for client in clients { #expect(throws: RawClient.Ended.self) { while true { _ = try client.next() } } }
    try expectService()
    try bus.crash()
    try expectService()
    #expect(try bus.stored()["state"] == 1)
  }

  @Test("a service manager that cannot be reached keeps nobody from being served")
  func noManager() throws {
    let bus = try TestBus(environment: ["TRIBUNE_FDSTORE": "100"])
    _ = unsafe unlink(bus.notifySocket.path)
    let client = try RawClient.greeted(bus)
    // Until it has turned out, the bus hands over when it is stopped.
    try bus.wait(serving: client) { try bus.log().contains("NOTIFY_SOCKET") }
    bus.signal(SIGTERM)
    #expect(try client.nextError() == .shuttingDown)
    #expect(bus.waitForEnd() == 0)
  }
}

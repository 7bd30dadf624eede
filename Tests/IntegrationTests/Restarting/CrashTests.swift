// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

/// What is under way when the bus dies: who is in the middle of something has to connect again, and everybody is
/// told what is lost.
@Suite("Crashes", .timeLimit(.minutes(2)))
struct CrashTests {
  private let bus: RestartedBus

  init() throws { bus = try RestartedBus() }

  @Test("who was sending a frame is told to connect again, and what it had registered stays until it has")
  func restarted() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    try client.observe("load.*", serial: 1)
    try client.send(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    _ = try client.next(.ok)
    let other = try RawClient.greeted(bus)
    try other.send(Post(), serial: 1, flags: .acknowledge, name: "load.unit")
    _ = try other.next(.ok)
    #expect(try client.next().name == "load.unit")
    try client.send([1, 2, 3])
    try RawClient.greeted(bus).settle()
    try bus.crash()
    #expect(try client.nextError() == .restarted)
    #expect(try client.readToEnd().isEmpty)

    try other.send(Ask(), serial: 2, name: "host.shouldReboot")
    #expect(try other.nextVerdict().verdict == .vetoed)
    for serial in Serial(3)...5 { try other.send(Post(), serial: serial, name: "load.unit") }
    try other.settle()
    let successor = try RawClient.greeted(bus)
    try successor.observe("load.*", serial: 1)
    try successor.send(Succeed(predecessor: welcome.connection, received: 1), serial: 2)
    #expect(try successor.next().decode(Lost.self).count == 3)
    #expect(try successor.next().kind == .ok)
    try other.send(Ask(), serial: 6, name: "host.shouldReboot")
    #expect(try other.nextVerdict().verdict == .allowed)
    try other.send(Post(), serial: 7, name: "load.unit")
    #expect(try successor.next().header.serial == 7)
    try successor.send(Succeed(predecessor: welcome.connection, received: 1), serial: 3)
    #expect(try successor.nextError() == .notFound)
  }

  @Test("nobody succeeds a connection that is there")
  func noSuccession() throws {
    let (client, welcome) = try RawClient.welcomed(bus)
    let other = try RawClient.greeted(bus)
    for (serial, id) in [
      (1, welcome.connection), (2, ConnectionID(rawValue: 99)), (3, ConnectionID(rawValue: 0)),
    ] {
      try other.send(Succeed(predecessor: id, received: 0), serial: Serial(serial))
      #expect(try other.nextError() == .notFound)
    }
    try client.settle()
  }

  @Test("what must not be lost and waits is still known when the log has been swept, several times")
  func sweptReplies() throws {
    let bus = try RestartedBus(configuration: "[Queue]\nHardLimit=4M\n")
    let observer = try RawClient(path: bus.path)
    try observer.greet(capabilities: .descriptors)
    try observer.observe("a.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    let watcher = try RawClient.greeted(bus)
    try watcher.observeMilestones(serial: 1)
    // It takes no file, so that the last one waits, and what is said behind it.
    let length = 500_000
    for serial in Serial(1)...9 {
      let file = try SharedFile.make(SharedFile.bytes(length))
      try poster.post("a.b", file: file, length: length, serial: serial, flags: .acknowledge)
      _ = try poster.next(.ok)
    }
    for serial in Serial(2)...4 { try observer.send(Observe(), serial: serial, name: "c.d") }
    try observer.passMilestone()
    try watcher.awaitMilestone()
    for serial in Serial(1)..<40_000 {
      try poster.send(Post(), serial: serial, flags: .acknowledge, name: "load.unit")
      if serial % 500 == 0 { try poster.settle() }
    }
    try poster.settle()
    try bus.crash()
    for serial in Serial(1)...8 {
      #expect(try observer.next(.post).header.serial == serial)
    }
    #expect(try observer.next(.lost).decode(Lost.self).count == 1)
    for serial in Serial(2)...4 { #expect(try observer.next(.ok).header.serial == serial) }
    try observer.expectSilence()
  }

  @Test("notifications that were held are told as lost")
  func held() throws {
    let observer = try RawClient.greeted(bus)
    try observer.send(Observe(suspension: .hold), serial: 1, name: "load.*")
    _ = try observer.next(.ok)
    try observer.send(Suspend(isSuspended: true), serial: 2)
    _ = try observer.next(.ok)
    let poster = try RawClient.greeted(bus)
    for serial in 1...3 { try poster.send(Post(), serial: Serial(serial), name: "load.unit") }
    try poster.settle()
    try bus.crash()
    #expect(try observer.next().decode(Lost.self).count == 3)
    try poster.send(Post(), serial: 4, name: "load.unit")
    try poster.settle()
    try observer.send(Suspend(isSuspended: false), serial: 3)
    #expect(try observer.next().header.serial == 4)
    #expect(try observer.next().kind == .ok)
  }

  @Test("a store that is full does not keep anybody from the bus, and the list says who does not survive")
  func fullStore() throws {
    // Two places are left for what a hand-over stores.
    let bus = try RestartedBus(room: 5)
    let clients = try (0..<4).map { _ in try RawClient.greeted(bus) }
    for client in clients { try client.observe("load.*", serial: 1) }
    let listed = try clients[3].list(List(.connections)).compactMap { entry in
      if case .connection(let connection) = entry { connection.isSurviving } else { nil as Bool? }
    }
    #expect(listed == [true, true, false, false])
    try bus.command("await c 2")
    #expect(try bus.stored() == ["state": 1, "c": 2])
    try bus.end(SIGKILL)
    try bus.start()
    for client in clients[..<2] { try client.settle() }
    for client in clients[2...] { #expect(try client.readToEnd().isEmpty) }
  }

  @Test("a bus that has been restarted often keeps no more than it has")
  func memory() throws {
    let client = try RawClient.greeted(bus)
    for serial in 1...100 {
      try client.observe("load.n\(serial)", serial: Serial(serial))
      if serial % 10 == 0 { try serial % 20 == 0 ? bus.crash() : bus.restart() }
    }
    let stored = try bus.stored()
    #expect(stored == ["state": 1, "c": 1])
  }
}

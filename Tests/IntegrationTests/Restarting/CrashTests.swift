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
    try client.sendConfirmed(Hold(), serial: 2, name: "host.shouldReboot", text: "backup")
    let other = try RawClient.greeted(bus)
    try other.observe("kept.*", serial: 9)
    try other.sendConfirmed(Post(), serial: 1, name: "load.unit")
    #expect(try client.next().name == "load.unit")
    try client.send([1, 2, 3])
    try bus.crash()
    #expect(try client.nextError() == .restarted)
    #expect(try client.readToEnd().isEmpty)

    #expect(try other.ask("host.shouldReboot", serial: 2).verdict == .vetoed)
    for serial in Serial(3)...5 { try other.send(Post(), serial: serial, name: "load.unit") }
    try other.settle()
    let successor = try RawClient.observing("load.*", on: bus)
    try successor.send(Succeed(predecessor: welcome.connection, received: 1), serial: 2)
    #expect(try successor.next().decode(Lost.self).count == 3)
    #expect(try successor.next().kind == .ok)
    #expect(try other.ask("host.shouldReboot", serial: 6).verdict == .allowed)
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

  @Test("what must not be lost and waits is still known when the log has been compacted several times")
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

  @Test("who is closed because it does not read finds whole frames, and the end, when the bus dies meanwhile")
  func tooSlow() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nPayloadMax=64K\n[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=128K\n")
    let other = try RawClient.greeted(bus)
    try other.sendConfirmed(
      Hold(), serial: 1, name: "a.shouldB", text: String(repeating: "w", count: WireLimits.reasonLength))
    let slow = try RawClient.observing("kept.*", on: bus)
    try bus.settleKeeper()
    let asks = ByteBuffer(capacity: 1 << 16)
    for serial in 1...1000 as ClosedRange<Serial> {
      asks.appendFrame(Ask(), serial: serial, name: "a.shouldB")
    }
    try slow.send([UInt8](asks.bytes))
    try bus.bus.waitForLog("bytes waited to be read")
    for _ in 0..<2 {
      try RawClient.greeted(bus).settle()
      bus.end(SIGKILL)
      try bus.start()
      try other.settle()
    }
    let frames = try slow.readToEnd()
    #expect(!frames.isEmpty)
    for (index, frame) in frames.enumerated() where frame.kind != .error {
      #expect(frame.kind == .verdict)
      #expect(frame.header.serial == Serial(index + 1))
    }
  }
}

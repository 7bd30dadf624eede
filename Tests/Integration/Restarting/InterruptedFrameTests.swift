// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@testable import TribuneServer

@Suite("Interrupted frames", .timeLimit(.minutes(15)))
struct InterruptedFrameTests {
  /// More than a socket buffers.
  private static let payload = String(repeating: "x", count: 1_500_000)

  @Test("if the rest of a half-sent frame is lost, no daemon sends anything else in its place")
  func lostRest() throws {
    let bus = try RestartedBus()
    let observer = try RawClient.observing("load.*", on: bus)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, flags: .acknowledge, name: "load.unit", text: Self.payload)
    _ = try poster.next(.ok)
    try bus.end(.planned)
    try Self.loseStreams(of: bus)
    try bus.start()
    #expect(try !bus.log().contains("cannot be"))
    try poster.send(Post(), serial: 2, flags: .acknowledge, name: "load.unit")
    _ = try poster.next(.ok)
    try bus.crash()
    #expect(try bus.log().contains("1 connection has to reconnect"))
    let bytes = try observer.bytesToEnd()
    let head = RawClient.bytes { $0.appendFrame(Post(), serial: 1, name: "load.unit") }
    #expect((head.count..<Self.payload.utf8.count).contains(bytes.count))
    #expect(bytes.dropFirst(head.count).allSatisfy { $0 == UInt8(ascii: "x") })
  }

  /// Makes the in-flight file name a missing connection.
  private static func loseStreams(of bus: RestartedBus) throws {
    let inode = try bus.withKept { kept in
      var streams = try SavedLog(of: kept.descriptor(.file))
      for record in streams.records where record.kind == EntryKind.inFlight.rawValue {
        streams.set(1 << 32, at: SavedLog.Record.connectionOffset, in: record)
      }
      return try kept.replace(.file, by: streams.file())
    }
    try bus.changeLog { state in
      for record in state.records where record.kind == EntryKind.handoverEnd.rawValue {
        state.set(inode, at: 0, inBodyOf: record)
      }
    }
  }

  @Test("a client that is closed for not reading gets whole frames and the end, even if the bus dies")
  func tooSlow() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nPayloadMax=64K\n[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=128K\n")
    let other = try RawClient.greeted(bus)
    try other.sendConfirmed(
      Hold(), serial: 1, name: "a.shouldB", text: String(repeating: "w", count: WireLimits.reasonLength))
    let slow = try RawClient.observing("kept.*", on: bus)
    try bus.settleKeeper()
    try slow.send { asks in
      for serial in 1...1000 { asks.appendFrame(Ask(), serial: Serial(serial), name: "a.shouldB") }
    }
    try bus.bus.waitForLog("unread bytes exceed the limit")
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

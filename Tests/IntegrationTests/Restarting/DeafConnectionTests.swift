// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@testable import TribuneServer

/// Connections to which nothing can be said any more: what they read is whole up to where it ends, whatever becomes of the
/// bus.
@Suite("Deaf connections", .timeLimit(.minutes(2)))
struct DeafConnectionTests {
  /// More than the kernel takes.
  private static let payload = String(repeating: "x", count: 1_500_000)

  @Test("who is in the middle of a frame whose rest is lost is told nothing within it, by no daemon")
  func lostRest() throws {
    let bus = try RestartedBus()
    let observer = try RawClient.greeted(bus)
    try observer.observe("load.*", serial: 1)
    let poster = try RawClient.greeted(bus)
    try poster.send(Post(), serial: 1, flags: .acknowledge, name: "load.unit", text: Self.payload)
    _ = try poster.next(.ok)
    try bus.end(SIGTERM)
    try Self.loseStreams(of: bus)
    try bus.start()
    #expect(try !bus.log().contains("cannot be"))
    // It is still there, and misses what comes.
    try poster.send(Post(), serial: 2, flags: .acknowledge, name: "load.unit")
    _ = try poster.next(.ok)
    try bus.crash()
    #expect(try bus.log().contains("1 connection has to connect again"))
    try poster.settle()
    let bytes = try Self.bytesToEnd(of: observer)
    let head = ByteBuffer(capacity: 64)
    head.appendFrame(Post(), serial: 1, name: "load.unit")
    #expect((head.count..<Self.payload.utf8.count).contains(bytes.count))
    #expect(bytes.dropFirst(head.count).allSatisfy { $0 == UInt8(ascii: "x") })
  }

  /// What is under way belongs to a connection that is not there.
  private static func loseStreams(of bus: RestartedBus) throws {
    let name = try #require(try bus.stored().keys.first { $0.hasPrefix("f") })
    func saved(_ name: String) throws -> SavedState {
      try bus.command("save \(name) \(bus.folder.path)/saved")
      return try SavedState(try bus.folder.read("saved"))
    }
    func place(_ saved: SavedState, _ name: String) throws -> UInt64 {
      try bus.folder.write(saved.text, to: "placed")
      try bus.command("drop \(name)")
      return try #require(
        try bus.command("place \(name) \(bus.folder.path)/placed").last.flatMap { UInt64($0) })
    }
    var streams = try saved(name)
    for record in streams.records where record.kind == EntryKind.inFlight.rawValue {
      streams.set(1 << 32, at: SavedState.Record.connectionOffset, in: record)
    }
    var state = try saved("state")
    let inode = try place(streams, name)
    for record in state.records where record.kind == EntryKind.handoverEnd.rawValue {
      state.set(inode, at: 0, inBodyOf: record)
    }
    _ = try place(state, "state")
  }

  private static func bytesToEnd(of client: RawClient) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let more = try client.nextBytes(), !more.isEmpty { bytes += more }
    return bytes
  }

  @Test("who is closed because it does not read finds whole frames, and the end, when the bus dies meanwhile")
  func tooSlow() throws {
    let bus = try RestartedBus(
      configuration: "[Bus]\nPayloadMax=64K\n[Queue]\nHighMark=64K\nLowMark=16K\nHardLimit=128K\n")
    let other = try RawClient.greeted(bus)
    try other.send(
      Hold(), serial: 1, name: "a.shouldB", text: String(repeating: "w", count: WireLimits.reasonLength))
    _ = try other.next(.ok)
    let slow = try RawClient.greeted(bus)
    try bus.command("await c 2")
    let asks = ByteBuffer(capacity: 1 << 16)
    for serial in 1...1000 as ClosedRange<Serial> {
      asks.appendFrame(Ask(), serial: serial, name: "a.shouldB")
    }
    try slow.send([UInt8](asks.bytes))
    try RunningProgram.wait(for: "bytes waited to be read", in: "\(bus.folder.path)/log")
    for _ in 0..<2 {
      try RawClient.greeted(bus).settle()
      try bus.end(SIGKILL)
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

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneWire

@testable import TribuneServer

/// A connection to which nothing can be said any more: what it reads is whole up to where it ends.
@Suite("Interrupted frames", .timeLimit(.minutes(2)))
struct InterruptedFrameTests {
  /// More than the kernel takes.
  private static let payload = String(repeating: "x", count: 1_500_000)

  @Test("who is in the middle of a frame whose rest is lost is told nothing within it, by no daemon")
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
    // It is still there, and misses what comes.
    try poster.send(Post(), serial: 2, flags: .acknowledge, name: "load.unit")
    _ = try poster.next(.ok)
    try bus.crash()
    #expect(try bus.log().contains("1 connection has to connect again"))
    let bytes = try observer.bytesToEnd()
    let head = ByteBuffer(capacity: 64)
    head.appendFrame(Post(), serial: 1, name: "load.unit")
    #expect((head.count..<Self.payload.utf8.count).contains(bytes.count))
    #expect(bytes.dropFirst(head.count).allSatisfy { $0 == UInt8(ascii: "x") })
  }

  /// What is under way belongs to a connection that is not there.
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
}

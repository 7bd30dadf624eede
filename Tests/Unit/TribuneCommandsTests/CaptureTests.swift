// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import Tribune
@testable import TribuneCommands

@Suite("Captures", .timeLimit(.minutes(15)))
struct CaptureTests {
  @Test("A file begins with its writer and with the source of its packets")
  func opening() {
    let section: [UInt8] = [
      0x0A, 0x0D, 0x0D, 0x0A, 44, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0,
      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
      4, 0, 5, 0, 0x61, 0x70, 0x70, 0x20, 0x31, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0,
    ]
    #expect(PcapngBlock.sectionHeader(application: "app 1").bytes == section)
    let interface: [UInt8] = [
      1, 0, 0, 0, 36, 0, 0, 0, 147, 0, 0, 0, 0, 0, 0, 0,
      2, 0, 7, 0, 0x74, 0x72, 0x69, 0x62, 0x75, 0x6E, 0x65, 0, 0, 0, 0, 0, 36, 0, 0, 0,
    ]
    #expect(PcapngBlock.interface(name: "tribune").bytes == interface)
    let software = PcapngBlock.sectionHeader(application: "tribunectl \(Version.current)")
    #expect(CaptureFile.opening == software.bytes + interface)
  }

  private static let packets: [(packet: PcapngBlock, bytes: [UInt8])] = [
    (
      .packet([1, 2, 3, 4, 5], time: 0x0006_4748_DEAD_BEEF, dropCount: 0),
      [
        6, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x47, 0x06, 0, 0xEF, 0xBE, 0xAD, 0xDE,
        5, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 40, 0, 0, 0,
      ]
    ),
    (
      .packet([9, 9, 9, 9], time: 1, dropCount: 300),
      [
        6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 9, 9, 9, 9,
        4, 0, 8, 0, 0x2C, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0,
      ]
    ),
    (
      .packet([9, 9, 9, 9], time: 1, dropCount: 1, comment: "hi"),
      [
        6, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 9, 9, 9, 9,
        1, 0, 2, 0, 0x68, 0x69, 0, 0, 4, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0,
      ]
    ),
  ]

  @Test(
    "A packet has its time in microseconds, padded bytes, a comment, and the count of missing packets before it",
    arguments: packets)
  func packet(packet: PcapngBlock, bytes: [UInt8]) { #expect(packet.bytes == bytes) }

  @Test(
    "A long packet is cut to Wireshark's limit, and has its full length",
    arguments: [(262_143, 262_143), (262_144, 262_144), (262_145, 262_144), (17 << 20, 262_144)])
  func longPackets(length: Int, captured: Int) {
    let bytes = PcapngBlock.packet([UInt8](repeating: 7, count: length), time: 0, dropCount: 0).bytes
    let padded = (captured + 3) / 4 * 4
    #expect(bytes.count == 32 + padded)
    #expect(bytes.rawBytes.integer(at: 4, as: UInt32.self) == UInt32(bytes.count))
    #expect(bytes.rawBytes.integer(at: 20, as: UInt32.self) == UInt32(captured))
    #expect(bytes.rawBytes.integer(at: 24, as: UInt32.self) == UInt32(length))
    #expect(bytes.rawBytes.integer(at: bytes.count - 4, as: UInt32.self) == UInt32(bytes.count))
  }

  @Test("An item is the bus's whole frame; a loss is also a frame, and the next item has its count")
  func deliveries() throws {
    let post = ByteBuffer(capacity: 64)
    post.appendFrame(Post(), serial: 3, name: "a.b", text: "{}")
    let traffic = ByteBuffer(capacity: 128)
    traffic.appendFrame(
      TribuneWire.Traffic(time: 77, from: ConnectionID(rawValue: 4), to: .bus, receivers: 2), serial: 0,
      payload: post.bytes)
    let header = try #require(try FrameHeader(traffic.bytes, at: 0, limits: .fromBus))
    let item = try TrafficItem(FrameView(header, traffic.bytes))
    #expect(Array(item.bytes) == Array(post.bytes))
    #expect(item.userInfo == "{}")
    let frame = Array(traffic.bytes)

    var file = CaptureFile()
    func packet(_ bytes: [UInt8], _ time: UInt64, _ dropCount: Int) -> [UInt8] {
      PcapngBlock.packet(bytes, time: time, dropCount: dropCount).bytes
    }
    #expect(file.block(for: .item(item), now: 1) == packet(frame, 77, 0))
    for count in [2, 3] {
      let lost = ByteBuffer(capacity: 64)
      lost.appendFrame(Lost(count: UInt64(count)), serial: 0)
      #expect(file.block(for: .lost(count), now: 99) == packet(Array(lost.bytes), 99, 0))
    }
    #expect(file.block(for: .item(item), now: 1) == packet(frame, 77, 5))
    #expect(file.block(for: .item(item), now: 1) == packet(frame, 77, 0))
    #expect(file.block(for: .interrupted, now: 1) == [])
    let commented = PcapngBlock.packet(frame, time: 77, dropCount: 0, comment: CaptureFile.interruption)
    #expect(file.block(for: .item(item), now: 1) == commented.bytes)
    #expect(file.block(for: .item(item), now: 1) == packet(frame, 77, 0))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@testable import TribuneCommands

@Suite("The Wireshark dissector", .timeLimit(.minutes(15)))
struct DissectorTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func vectors() throws -> [(name: String, bytes: [UInt8])] {
    let folder = Script.repository.appendingPathComponent("Tests/Unit/TribuneWireTests/Vectors")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try files.filter { $0.hasSuffix(".hex") && !$0.hasPrefix("hello") }.map { file in
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      var frame: [UInt8] = []
      for line in text.split(separator: "\n") {
        for pair in line.prefix(while: { $0 != "#" }).split(separator: " ") {
          frame.append(try #require(UInt8(pair, radix: 16)))
        }
      }
      if frame[4] == FrameKind.traffic.rawValue { return (file, frame) }
      let buffer = ByteBuffer(capacity: 256)
      buffer.appendFrame(
        Traffic(time: 1_767_225_600_000_000, from: ConnectionID(rawValue: 7), to: .bus, receivers: 2),
        serial: 0, payload: unsafe frame.span.bytes)
      return (file, [UInt8](buffer.bytes))
    }
  }

  private func write(_ packets: [[UInt8]], lengths: [Int]? = nil) throws -> String {
    var bytes = CaptureFile.opening
    for (index, packet) in packets.enumerated() {
      var block = PcapngBlock.packet(packet, time: UInt64(index), dropCount: 0).bytes
      if let length = lengths?[index] {
        for byte in 0..<4 { block[24 + byte] = UInt8(truncatingIfNeeded: length >> (8 * byte)) }
      }
      bytes += block
    }
    let file = "\(folder.path)/packets"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    return file
  }

  @Test("decodes every kind of frame, completely")
  func kinds() throws {
    let vectors = try vectors()
    let file = try write(vectors.map(\.bytes))
    let rows = try Tshark(file, fields: ["tribune.kind", "tribune.newer", "_ws.expert.message"]).rows
    #expect(rows.count == vectors.count)
    for (vector, row) in zip(vectors, rows) {
      let kind = vector.name == "traffic.hex" ? FrameKind.post.rawValue : vector.bytes[60 + 4]
      #expect(row == ["\(kind)", "", ""], "\(vector.name)")
    }
    #expect(Set(rows.map { $0[0] }).count == FrameKind.allCases.count - 1)
  }

  @Test("reports a frame that ends early as malformed, wherever it ends")
  func truncated() throws {
    let packets = try vectors().flatMap { vector in
      (0..<vector.bytes.count).map { Array(vector.bytes[..<$0]) }
    }
    let file = try write(packets)
    let wrong = try Tshark(file, fields: ["frame.number"], filter: "tribune.malformed").rows
    #expect(wrong.count == packets.count)
  }

  @Test("does not report a frame as malformed if only its beginning was captured")
  func cut() throws {
    var packets: [[UInt8]] = []
    var lengths: [Int] = []
    for vector in try vectors() {
      for length in stride(from: 1, to: vector.bytes.count, by: 3) {
        packets.append(Array(vector.bytes[..<length]))
        lengths.append(vector.bytes.count)
      }
    }
    let file = try write(packets, lengths: lengths)
    #expect(try Tshark(file, fields: ["frame.number"], filter: "tribune.malformed").rows.isEmpty)
    #expect(
      try Tshark(file, fields: ["frame.number"], filter: "tribune.truncated").rows.count == packets.count)
  }

  @Test("survives wrong bytes anywhere")
  func hostile() throws {
    var packets: [[UInt8]] = []
    for vector in try vectors() {
      for index in vector.bytes.indices {
        for byte in [0, 0x7F, 0xFF] as [UInt8] {
          var bytes = vector.bytes
          bytes[index] = byte
          packets.append(bytes)
        }
      }
    }
    let file = try write(packets)
    let rows = try Tshark(file, fields: ["frame.number", "_ws.expert.message"]).rows
    #expect(rows.count == packets.count)
    #expect(!rows.contains { $0[1].contains("tribune.lua") })
    #expect(rows.contains { $0[1].contains("ends early") })
  }
}

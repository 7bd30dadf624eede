// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

/// What the state that is stored says of its log, in the form of version 1.
struct StoredLog {
  /// Where it begins in the file.
  let start: Int
  /// Bytes that count.
  let length: Int
  /// A sweep is under way: it has written to the other area, which is given back when it ends.
  let isBeingSwept: Bool

  fileprivate init(of bus: RestartedBus) throws {
    func number(at offset: Int) throws -> Int {
      Int(UInt32(truncatingIfNeeded: try bus.storedWord(at: offset)))
    }
    func aligned(_ offset: Int) -> Int { (offset + 65_535) & ~65_535 }
    let (slotCount, segmentCapacity) = (Int(try bus.storedWord(at: 24)), Int(try bus.storedWord(at: 32)))
    func areaStart(_ area: Int) -> Int { aligned(4096 + 64 * slotCount) + area * aligned(segmentCapacity) }
    let area = try number(at: 64)
    start = areaStart(area)
    length = try number(at: 72 + 8 * area) * 8
    // The length of its first record.
    isBeingSwept = try number(at: areaStart(1 - area)) != 0
  }
}

extension RestartedBus {
  func storedLog() throws -> StoredLog { try StoredLog(of: self) }

  fileprivate func storedWord(at offset: Int) throws -> UInt64 {
    try #require(try command("word \(offset)").last.flatMap { UInt64($0) })
  }
}

/// Registers and ends so much that the log is swept again and again.
struct Churn {
  private static let pairsPerRound = 40
  /// So long that one round, in one write, is some 20 KiB of log.
  private static let pattern = "load.\(String(repeating: "x", count: 200))"
  /// Bytes that a round adds to the log at least: two records of a frame with their heads, without what the bus says.
  static let lengthPerRound = pairsPerRound * (pattern.utf8.count + 2 * (32 + 16 + FrameHeader.length))

  let client: RawClient
  private var serial: Serial = 1 << 32

  init(_ client: RawClient) { self.client = client }

  /// One observation for each, which is ended at once. Each is answered before this returns.
  mutating func round() throws {
    let frames = ByteBuffer(capacity: 65_536)
    for _ in 0..<Self.pairsPerRound {
      frames.appendFrame(Observe(), serial: serial, name: Self.pattern)
      frames.appendFrame(Cancel(target: serial), serial: serial + 1)
      serial += 2
    }
    try client.send([UInt8](frames.bytes))
    while try client.next(.ok).header.serial != serial - 1 {}
  }
}

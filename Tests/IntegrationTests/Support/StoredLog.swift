// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneWire

/// What the state that is stored says of its log, in the form of version 1.
struct StoredLog {
  /// Bytes that count.
  let length: Int
  /// A sweep is under way: it has written to the other area, which is given back when it ends.
  let isBeingSwept: Bool

  fileprivate init(readingFrom file: FileHandle) throws {
    func word(at offset: Int) throws -> UInt64 {
      try file.seek(toOffset: UInt64(offset))
      let bytes = try file.read(upToCount: 8) ?? Data()
      return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    func number(at offset: Int) throws -> Int { Int(UInt32(truncatingIfNeeded: try word(at: offset))) }
    func aligned(_ offset: Int) -> Int { (offset + 65_535) & ~65_535 }
    let (cellCount, areaLength) = (Int(try word(at: 24)), Int(try word(at: 32)))
    let area = try number(at: 64)
    length = try number(at: 72 + 8 * area) * 8
    let other = aligned(4096 + 64 * cellCount) + (1 - area) * aligned(areaLength)
    // The length of its first record.
    isBeingSwept = try number(at: other) != 0
  }
}

extension RestartedBus {
  func storedLog() throws -> StoredLog {
    let path = "\(folder.path)/state"
    try command("save \(path)")
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { do { try file.close() } catch { print("cannot close: \(error)") } }
    return try StoredLog(readingFrom: file)
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

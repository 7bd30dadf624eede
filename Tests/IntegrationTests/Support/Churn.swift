// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Registers and ends so much that the log is compacted again and again.
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

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Makes and ends so many registrations that the log is compacted again and again.
struct Churn {
  private static let pairsPerRound = 40
  /// With this length, a round takes about 20 KiB of the log, in one write.
  private static let pattern = "load.\(String(repeating: "x", count: 200))"
  /// The least bytes that a round adds to the log: for each pair two entries with a frame, without the bus's replies.
  static let lengthPerRound = pairsPerRound * (pattern.utf8.count + 2 * (32 + 16 + FrameHeader.length))

  let client: RawClient
  private var serial: Serial = 1 << 32

  init(_ client: RawClient) { self.client = client }

  /// Makes and ends observations, and waits for the answers.
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

// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// The length of a whole `lost` frame, in bytes.
  package static let frameLength = FrameHeader.length + 8
}

/// Before the first notification of a poster, the bus sends a `poster` frame to the receiver. The receiver
/// remembers one poster for each slot, which bounds the memory of both sides. The receiver knows a poster while
/// any slot refers to the poster.
extension PosterFacts {
  /// All posters that have disconnected share this slot.
  package static let departedSlot: UInt32 = 0
  /// All posters of notifications that wait on the bus share this slot. No connection has this slot.
  package static let waitingSlot: UInt32 = (1 << 20) - 1
}

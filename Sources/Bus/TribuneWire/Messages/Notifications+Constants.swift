// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// In bytes.
  package static let frameLength = FrameHeader.length + 8
}

/// A connection gets a `poster` frame before the first notification of each poster, and remembers one poster a slot,
/// which bounds the memory of both sides. It knows a poster while any slot has it.
extension PosterFacts {
  /// All posters that have disconnected share this slot.
  package static let departedSlot: UInt32 = 0
  /// The posters of notifications that wait on the bus share this slot: it has no number of a connection.
  package static let waitingSlot: UInt32 = (1 << 20) - 1
}

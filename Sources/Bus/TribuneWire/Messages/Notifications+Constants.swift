// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// In bytes.
  package static let frameLength = FrameHeader.length + 8
}

/// A connection gets a `poster` frame before the first notification of each poster, and remembers one poster a slot,
/// which bounds the memory of both sides.
extension PosterFacts {
  /// All posters that have disconnected share this slot.
  package static let departedSlot: UInt32 = 0
}

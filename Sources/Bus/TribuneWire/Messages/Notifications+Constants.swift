// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// Bytes.
  package static let frameLength = FrameHeader.length + 8
}

/// A connection gets `poster` before the first notification of each poster, and remembers one poster a slot.
/// So the memory of both sides is bounded.
extension PosterFacts {
  /// Shared by all posters that have disconnected.
  package static let departedSlot: UInt32 = 0
}

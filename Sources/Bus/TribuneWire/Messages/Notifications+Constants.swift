// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// Bytes of a whole frame.
  package static let frameLength = FrameHeader.length + 8
}

/// A connection gets `poster` before the first notification of each poster, and remembers one poster a slot.
/// So both sides need memory for at most the posters connected at a time.
extension PosterFacts {
  /// The slot shared by all posters that have disconnected.
  package static let departedSlot: UInt32 = 0
}

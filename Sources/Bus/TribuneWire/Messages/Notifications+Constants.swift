// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// The length of a whole `lost` frame, in bytes.
  package static let frameLength = FrameHeader.length + 8
}

/// Before a poster's first notification, the bus sends the receiver a `poster` frame with a slot number. The
/// bus and the receiver remember the last poster of each slot, so the number of slots bounds their memory. A
/// poster can be in its own slot and in the two shared slots. When other posters have taken all slots of a
/// poster, the receiver forgets this poster.
extension PosterFacts {
  /// All posters that have disconnected share this slot.
  package static let departedSlot: UInt32 = 0
  /// Posters whose notifications wait on the bus for room share this slot. Every connection's own is lower.
  package static let waitingSlot: UInt32 = (1 << 20) - 1
}

// SPDX-License-Identifier: Apache-2.0

extension PostOptions {
  package static let coalescing: PostOptions = [.coalesceByName, .coalesceByObject]
}

extension Lost {
  /// Bytes of a whole frame.
  package static let frameLength = FrameHeader.length + 8
}

/// A connection gets `poster` before the first notification of each poster, and remembers one poster for each slot: the
/// slot's next poster takes its place. So neither side needs more memory than there are connections at a time, however
/// many come and go.
extension PosterFacts {
  /// The slot that all posters share that have gone.
  package static let departedSlot: UInt32 = 0
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What is held for a suspended connection until it resumes, in the order in which that will be.
struct HeldNotifications {
  /// Frames of one name and object, which lie behind each other.
  private struct Run {
    var slice: ByteSlice
    var count: UInt64
  }

  /// What each run takes besides its bytes.
  private static var overhead: Int { 256 }

  private var runs: CoalescingQueue<Run>
  /// Notifications that were dropped because there was no room.
  private(set) var lostCount: UInt64 = 0

  init(of slot: ConnectionSlot) { runs = CoalescingQueue(number: slot.index) }

  var byteCount: Int { runs.byteCount }

  /// Holds a run.
  ///
  /// - Parameters:
  ///   - key: what it is about, when it takes the place of those that are held of the same. Only the last frame of the
  ///     run is then held.
  ///   - limit: bytes that may be held; past it the oldest are dropped.
  mutating func hold(_ slice: ByteSlice, count: UInt64, replacing key: ExactText?, limit: Int) {
    var run = Run(slice: slice, count: count)
    if let key {
      _ = runs.remove(under: key)
      run = Run(slice: slice.lastFrame, count: 1)
    }
    // What it came in with is not to be kept for its sake.
    run.slice = run.slice.copied()
    runs.append(run, keys: key.map { [$0] } ?? [], byteCount: run.slice.weight + Self.overhead)
    while runs.byteCount > limit, let oldest = runs.popFirst() { lostCount += oldest.count }
  }

  /// Hands out all that is held, and forgets it.
  mutating func take() -> (slices: [ByteSlice], count: UInt64, lost: UInt64) {
    var slices: [ByteSlice] = []
    var count: UInt64 = 0
    while let run = runs.popFirst() {
      slices.append(run.slice)
      count += run.count
    }
    defer { lostCount = 0 }
    return (slices, count, lostCount)
  }
}

extension ByteSlice {
  /// The last of the frames that the slice is.
  fileprivate var lastFrame: ByteSlice {
    var start = range.lowerBound
    while true {
      let next = start + buffer.frameLength(at: start)
      if next >= range.upperBound { return ByteSlice(buffer, start..<range.upperBound) }
      start = next
    }
  }
}

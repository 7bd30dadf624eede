// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What is held for a suspended connection until it resumes, in the order in which that will be.
struct HeldNotifications {
  /// Frames of one name and object, which lie behind each other.
  struct Run {
    var slice: ByteSlice
    var count: UInt64
  }

  /// What each run takes besides its bytes.
  private static var overhead: Int { 256 }

  private(set) var runs: CoalescingQueue<Run>
  /// Notifications that were dropped because there was no room.
  var lostCount: UInt64 = 0
  /// Notifications that are held.
  private var count: UInt64 = 0
  /// What the connection will receive, or be told is lost.
  var dueCount: UInt64 { count + lostCount }

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
      for replaced in runs.remove(under: key) { self.count -= replaced.count }
      run = Run(slice: slice.lastFrame, count: 1)
    }
    // What it came in with is not to be kept for its sake.
    run.slice = run.slice.copied()
    append(run, under: key)
    while runs.byteCount > limit, let oldest = runs.popFirst() {
      self.count -= oldest.count
      lostCount += oldest.count
    }
  }

  mutating func append(_ run: Run, under key: ExactText?) {
    runs.append(run, keys: key.map { [$0] } ?? [], byteCount: run.slice.weight + Self.overhead)
    count += run.count
  }

  /// Hands out all that is held, and forgets it.
  mutating func take() -> (slices: [ByteSlice], count: UInt64, lost: UInt64) {
    var slices: [ByteSlice] = []
    var count: UInt64 = 0
    while let run = runs.popFirst() {
      slices.append(run.slice)
      count += run.count
    }
    defer { (self.count, lostCount) = (0, 0) }
    return (slices, count, lostCount)
  }
}

extension ByteSlice {
  /// How many whole frames the slice is.
  package var frameCount: Int {
    var (start, count) = (range.lowerBound, 0)
    while start < range.upperBound {
      start += buffer.frameLength(at: start)
      count += 1
    }
    return count
  }

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

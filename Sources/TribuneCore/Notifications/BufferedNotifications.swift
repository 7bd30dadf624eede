// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// Notifications that are buffered for a suspended connection, in the order in which it will receive them.
struct BufferedNotifications {
  /// Contiguous frames of one name and object.
  struct Run {
    var slice: ByteSlice
    var count: UInt64
  }

  /// Bytes charged for each run besides its frames.
  private static var overhead: Int { 256 }

  private(set) var runs: CoalescingQueue<Run>
  /// Notifications that were dropped for lack of space.
  var lostCount: UInt64 = 0
  /// Notifications that later ones have replaced since the connection was suspended.
  var coalescedCount: UInt64 = 0
  /// Buffered notifications.
  private var count: UInt64 = 0
  /// Notifications that the connection will receive, or see reported as lost.
  var dueCount: UInt64 { count + lostCount }

  init(of slot: ConnectionSlot) { runs = CoalescingQueue(number: slot.index) }

  var byteCount: Int { runs.byteCount }

  /// Buffers a run.
  ///
  /// - Parameters:
  ///   - key: the dedup key, if the run replaces buffered runs with that key. Then only its last frame is buffered.
  ///   - limit: bytes that may be buffered. Over it, the oldest runs are dropped.
  mutating func append(_ slice: ByteSlice, count: UInt64, replacing key: ExactText?, limit: Int) {
    var run = Run(slice: slice, count: count)
    if let key {
      for replaced in runs.remove(under: key) {
        self.count -= replaced.count
        coalescedCount += replaced.count
      }
      coalescedCount += count - 1
      run = Run(slice: slice.lastFrame, count: 1)
    }
    // A copy, so that the run does not keep its receive buffer.
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

  /// Removes the runs whose name and object meet a condition. They do not count as lost.
  ///
  /// - Returns: whether there was any.
  mutating func remove(where isRemoved: (_ name: RawSpan, _ object: RawSpan) -> Bool) -> Bool {
    let removed = runs.remove { run in
      let bytes = run.slice.bytes
      let header = run.slice.firstHeader
      return isRemoved(
        bytes.extracting(header.nameStart..<header.objectStart),
        bytes.extracting(header.objectStart..<header.payloadStart))
    }
    for run in removed { count -= run.count }
    return !removed.isEmpty
  }

  /// Removes and returns all that is buffered.
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
  /// The number of frames in the slice, which are whole.
  package var frameCount: Int {
    var (start, count) = (range.lowerBound, 0)
    while start < range.upperBound {
      start += buffer.frameLength(at: start)
      count += 1
    }
    return count
  }

  /// The header of the first frame in the slice.
  var firstHeader: FrameHeader {
    guard let header = FrameHeader.peek(bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("the header of an accepted frame is invalid")
    }
    return header
  }

  /// The last frame in the slice.
  fileprivate var lastFrame: ByteSlice {
    var start = range.lowerBound
    while true {
      let next = start + buffer.frameLength(at: start)
      if next >= range.upperBound { return ByteSlice(buffer, start..<range.upperBound) }
      start = next
    }
  }
}

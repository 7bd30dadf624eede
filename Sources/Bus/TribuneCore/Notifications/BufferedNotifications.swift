// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The notifications of a suspended connection, in the order of delivery.
struct BufferedNotifications {
  /// Contiguous frames of one name and object.
  struct Run {
    var slice: ByteSlice
    var count: UInt64
  }

  /// The bytes counted for each run, in addition to its frames.
  private static var overhead: Int { 256 }

  private(set) var runs: CoalescingQueue<Run>
  var lostCount: UInt64 = 0
  /// The number of notifications that later notifications replaced during this suspension.
  var coalescedCount: UInt64 = 0
  private var count: UInt64 = 0
  /// The number of buffered notifications plus the number of losses that the bus has not reported yet.
  var dueCount: UInt64 { count + lostCount }

  init(of slot: ConnectionSlot) { runs = CoalescingQueue(number: slot.index) }

  var byteCount: Int { runs.byteCount }

  /// - Parameters:
  ///   - coalesces: if true, keeps only the run's last frame. This frame replaces the buffered frame of the
  ///     same name and object, if that frame was also appended with `coalesces`.
  ///   - limit: in bytes. If the buffer exceeds the limit, this method drops the oldest runs.
  mutating func append(_ added: inout RunToBuffer, coalesces: Bool, limit: Int) {
    var key: ExactText?
    var count = added.count
    if coalesces {
      key = added.key
      for replaced in runs.remove(under: added.key) {
        self.count -= replaced.count
        coalescedCount += replaced.count
      }
      coalescedCount += count - 1
      count = 1
    }
    let length = (coalesces ? added.lastFrame : added.run).weight + Self.overhead
    if length <= limit {
      append(Run(slice: coalesces ? added.copyOfLast : added.copy, count: count), under: key)
    } else {
      // If the run alone exceeds the limit, drop it without a copy. The loop below then drops all older runs.
      lostCount += count
    }
    while runs.byteCount > (length <= limit ? limit : 0), let oldest = runs.popFirst() {
      self.count -= oldest.count
      lostCount += oldest.count
    }
  }

  mutating func append(_ run: Run, under key: ExactText?) {
    runs.append(run, keys: key.map { [$0] } ?? [], byteCount: run.slice.weight + Self.overhead)
    count += run.count
  }

  /// Removes the runs that `isRemoved` selects, but does not count them as lost. Returns true if it removed
  /// any.
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

  /// Returns nil if there are no notifications and no losses.
  mutating func take() -> FlushedNotifications? {
    guard dueCount > 0 else { return nil }
    var flushed = FlushedNotifications(count: count, lost: lostCount)
    while let run = runs.popFirst() { flushed.slices.append(run.slice) }
    (count, lostCount) = (0, 0)
    return flushed
  }
}

/// Buffered notifications that their connection now receives. The connection first learns how many
/// notifications were lost for lack of space.
package struct FlushedNotifications {
  package fileprivate(set) var slices: [ByteSlice] = []
  package let count: UInt64
  package let lost: UInt64
}

/// The bus's decision about a run (frames of one name and object) for one receiver.
package enum Admission {
  /// The run was buffered or dropped.
  case keptBack
  /// The run is delivered now, after these buffered notifications.
  case delivered(after: FlushedNotifications?)
}

/// A run of frames (`Run`) for the buffers of any number of connections. The buffers need a copy, because the
/// bus reuses the memory in which it received the run. All buffers share one copy.
package struct RunToBuffer {
  let run: ByteSlice
  let count: UInt64
  private(set) lazy var key = run.coalescingKey
  private(set) lazy var copy = run.copied()
  private(set) lazy var lastFrame = run.lastFrame
  private(set) lazy var copyOfLast = count == 1 ? copy : lastFrame.copied()

  package init(_ run: ByteSlice, count: Int) { (self.run, self.count) = (run, UInt64(count)) }
}

extension ByteSlice {
  package var frameCount: Int {
    var (start, count) = (range.lowerBound, 0)
    while start < range.upperBound {
      start += buffer.frameLength(at: start)
      count += 1
    }
    return count
  }

  var firstHeader: FrameHeader {
    guard let header = FrameHeader.peek(bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("the header of an accepted frame is invalid")
    }
    return header
  }

  fileprivate var lastFrame: ByteSlice {
    var start = range.lowerBound
    while true {
      let next = start + buffer.frameLength(at: start)
      if next >= range.upperBound { return ByteSlice(buffer, start..<range.upperBound) }
      start = next
    }
  }
}

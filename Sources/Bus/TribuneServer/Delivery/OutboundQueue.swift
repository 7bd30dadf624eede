// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The unsent frames of one connection, in order, as slices of the buffers that contain them.
///
/// An entry has frames of one kind that are adjacent in a buffer: notifications, or *control frames*. Control
/// frames are all frames except notifications and `lost`. A `lost` frame has an entry of its own. The queue
/// copies short frames into a buffer of its own, because a copy costs less than an entry and an I/O vector. A
/// long frame can take two entries.
///
/// The queue can drop notifications, the oldest first, but never a partly sent one. A `lost` frame replaces
/// the dropped notifications, and reports their number.
///
/// A frame with an attachment (userInfo in a file) has an entry and a buffer of its own. The attachment is
/// sent with the frame's first byte. From then on, the queue's `byteCount` excludes the attachment's length.
nonisolated struct OutboundQueue: ~Copyable {
  struct Entry {
    var slice: ByteSlice
    var isNotification: Bool
    /// The entry is a `lost` frame. The count in the frame can change until the frame's first byte is sent.
    var isLost = false
    /// `consolidate` need not copy the entry, unless drops have left large gaps in the queue's buffers.
    var isConsolidated = false
    /// The rest of the entry's last frame is in the next entry.
    var isCut = false
    /// Includes a partly sent frame. The count is 0 for a `lost` frame.
    var frameCount: UInt32 = 0

    init(_ slice: ByteSlice, isNotification: Bool, count: Int, isConsolidated: Bool = false) {
      self.slice = slice
      self.isNotification = isNotification
      self.isConsolidated = isConsolidated
      isCut = count == 0
      frameCount = UInt32(count)
    }

    init(lost buffer: ByteBuffer) {
      slice = ByteSlice(buffer, 0..<buffer.count)
      isNotification = false
      isLost = true
    }

    var reportedCount: UInt64 { slice.bytes.lostCount(at: 0) }

    mutating func extend(by length: Int, frames count: Int) {
      slice.range = slice.range.lowerBound..<slice.range.upperBound + length
      isCut = count == 0
      frameCount += UInt32(count)
    }
  }

  /// The kind of the last entry if the entry ends where `ownBuffer` ends, so that short frames of this kind
  /// can extend the entry. `none` if the last entry ends elsewhere.
  private enum OpenEntry {
    case none
    case notification
    case other
  }

  /// In bytes. `append` copies slices of up to this length.
  private static let copiedLength = 1024

  /// In bytes. `consolidate` leaves slices of at least this length in their buffers.
  private static let consolidatedLength = 8192

  // The fields that are used to copy a short frame come first, and are contiguous. If one frame goes to many
  // queues, most of the time is spent on fetching these fields from memory.
  private var ownBuffer: ByteBuffer?
  private var openEntry = OpenEntry.none
  /// The number of copied frames that the open entry does not include yet (`completeEntry()`).
  private var openFrameCount: UInt32 = 0
  var unsentCount = 0
  var attachedCount = 0
  /// Includes lost notifications whose `lost` frame is unsent.
  var unsentNotificationCount: UInt64 = 0
  /// The number of unsent control frames, including the hello. `lost` frames do not count.
  var unsentControlCount: UInt64 = 0

  var entries: [Entry] = []
  /// The index of the first entry. Entries before this index are no longer in use.
  var head = 0
  /// The number of sent bytes of the first entry.
  var headSent = 0
  /// The number of unsent bytes of a partly sent frame. They can extend into the second entry.
  var partialLeft = 0
  var firstUnconsolidated = 0
  /// Entries before this index cannot be dropped.
  var firstDroppable = 0
  var lastLost: Int?
  var droppedCount = 0

  var byteCount: Int { unsentCount + attachedCount }
  /// All losses in this queue so far. In `Output.queue`, also the losses before a restart of the bus.
  var lostCount: UInt64 = 0
  var unreportedLostCount: UInt64 = 0
  var dropEffort = 0
  var isMidFrame: Bool { partialLeft > 0 }

  init() {}

  var nextFile: (any AttachedFile)? {
    attachedCount > 0 && headSent == 0 ? entries[head].slice.buffer.attachment : nil
  }

  var isEmpty: Bool { head == entries.count }

  @inline(__always) private mutating func extendLast(
    by slice: ByteSlice, isNotification: Bool, count: Int
  ) -> Bool {
    let last = entries.count - 1
    guard last >= head, entries[last].slice.buffer === slice.buffer,
      entries[last].slice.range.upperBound == slice.range.lowerBound,
      entries[last].isNotification == isNotification, !entries[last].isLost, !entries[last].isConsolidated
    else { return false }
    unsentCount += slice.count
    add(count, isNotification: isNotification)
    entries[last].extend(by: slice.count, frames: count)
    if isNotification { firstDroppable = min(firstDroppable, last) }
    return true
  }

  @inline(__always) private mutating func add(_ count: Int, isNotification: Bool) {
    if isNotification {
      unsentNotificationCount += UInt64(count)
    } else {
      unsentControlCount += UInt64(count)
    }
  }

  static func copies(_ slice: ByteSlice) -> Bool {
    slice.count <= copiedLength && slice.buffer.attachment == nil
  }

  /// Copies `slice` to the open entry. Inlined, because a post calls this function for each receiver.
  ///
  /// - Returns: false if `count` is 0, if no entry of this kind is open, or if `ownBuffer` lacks space.
  @inline(__always) mutating func extendOpenEntry(
    by slice: ByteSlice, isNotification: Bool, count: Int
  ) -> Bool {
    guard openEntry == (isNotification ? .notification : .other), count > 0 else { return false }
    // The buffer is swapped out and back, because a copied reference would cost a retain and a release.
    var own: ByteBuffer?
    swap(&own, &ownBuffer)
    let isCopied = own?.append(ifItFits: slice.bytes) == true
    swap(&own, &ownBuffer)
    guard isCopied else { return false }
    openFrameCount += UInt32(count)
    unsentCount += slice.count
    add(count, isNotification: isNotification)
    return true
  }

  /// Appends a slice. If the slice is short and the queue is not empty, copies it. If a short queue needs a
  /// buffer for copies, and the pool has none free, the slice is not copied: new buffers for many short
  /// queues would take much memory.
  ///
  /// - Parameters:
  ///   - count: the number of frames; 0 for the beginning of a frame, whose rest the caller must append next.
  ///   - pool: nil to disable copies.
  mutating func append(
    _ slice: ByteSlice, isNotification: Bool, count: Int = 1, copyingInto pool: BufferPool? = nil
  ) {
    if let pool, Self.copies(slice) {
      if extendOpenEntry(by: slice, isNotification: isNotification, count: count) { return }
      if !isEmpty {
        if openEntry == .none, extendLast(by: slice, isNotification: isNotification, count: count) { return }
        closeEntry()
        if copyToOwnBuffer(slice, from: pool) {
          addCopied(slice.count, isNotification: isNotification, count: count)
          openEntry = isNotification ? .notification : .other
          return
        }
      }
    }
    closeEntry()
    if extendLast(by: slice, isNotification: isNotification, count: count) { return }
    unsentCount += slice.count
    add(count, isNotification: isNotification)
    if let attachment = slice.buffer.attachment { attachedCount += attachment.length }
    entries.append(Entry(slice, isNotification: isNotification, count: count))
  }

  private mutating func copyToOwnBuffer(_ slice: ByteSlice, from pool: BufferPool) -> Bool {
    if ownBuffer?.append(ifItFits: slice.bytes) == true { return true }
    guard let fresh = unsentCount < Self.copiedLength ? pool.takeIfFree() : pool.take() else { return false }
    ownBuffer = fresh
    fresh.append(slice.bytes)
    return true
  }

  private mutating func addCopied(_ length: Int, isNotification: Bool, count: Int) {
    guard let own = ownBuffer else { preconditionFailure("a queue that copies has a buffer") }
    unsentCount += length
    add(count, isNotification: isNotification)
    if firstUnconsolidated == entries.count { firstUnconsolidated += 1 }
    let copy = ByteSlice(own, own.count - length..<own.count)
    entries.append(Entry(copy, isNotification: isNotification, count: count, isConsolidated: true))
  }

  /// Adds all copied frames to the open entry. Must precede a read of that entry's length or frame count.
  mutating func completeEntry() {
    guard openFrameCount > 0 else { return }
    guard let own = ownBuffer else { preconditionFailure("an open entry lies in the queue's own buffer") }
    let last = entries.count - 1
    entries[last].extend(by: own.count - entries[last].slice.range.upperBound, frames: Int(openFrameCount))
    openFrameCount = 0
  }

  mutating func closeEntry() {
    completeEntry()
    openEntry = .none
  }

  /// The whole first frame. The queue must not be empty, and this frame must not be partly sent.
  mutating func firstFrame() -> ByteSlice {
    precondition(!isEmpty && !isMidFrame, "no whole frame comes first")
    completeEntry()
    let entry = entries[head].slice
    let start = entry.range.lowerBound + headSent
    let length = entry.buffer.frameLength(at: start)
    let count = min(length, entry.range.upperBound - start)
    if count == length { return ByteSlice(entry.buffer, start..<start + length) }
    let joined = ByteBuffer(capacity: length)
    joined.append(entry.buffer.bytes(in: start..<start + count))
    let rest = entries[head + 1].slice
    joined.append(rest.buffer.bytes(in: rest.range.lowerBound..<rest.range.lowerBound + length - count))
    return ByteSlice(joined, 0..<length)
  }

  /// Calls `body` with each range that the next system call can send, until `body` returns false. Only
  /// the first range can have an unsent attachment: the kernel passes a file with a call's first byte.
  func forEachUnsent(_ body: (Range<Int>, ByteBuffer) -> Bool) {
    var sent = headSent
    // Access through a span copies no element. A copy would retain the element's buffer.
    let entries = entries.span
    for index in head..<entries.count {
      let range = entries[index].slice.range
      if index > head, entries[index].slice.buffer.attachment != nil { return }
      let end = openFrameCount > 0 && index == entries.count - 1 ? ownBuffer?.count : nil
      guard body(range.lowerBound + sent..<(end ?? range.upperBound), entries[index].slice.buffer)
      else { return }
      sent = 0
    }
  }

  mutating func consume(_ count: Int) {
    precondition(count <= unsentCount)
    unsentCount -= count
    if attachedCount > 0, count > 0, headSent == 0 {
      attachedCount -= entries[head].slice.buffer.attachment?.length ?? 0
    }
    guard unsentCount > 0 else { return removeAll() }
    completeEntry()
    moveOn(by: count)
    forgetFront()
  }

  private mutating func moveOn(by count: Int) {
    var left = count
    while left > 0 {
      let rest = entries[head].slice.count - headSent
      if partialLeft == 0 {
        if left >= rest, !entries[head].isCut {
          countSent(UInt64(entries[head].frameCount))
          left -= rest
          head += 1
          headSent = 0
          continue
        }
        partialLeft = entries[head].slice.buffer.frameLength(
          at: entries[head].slice.range.lowerBound + headSent)
      }
      let step = min(left, rest, partialLeft)
      left -= step
      partialLeft -= step
      headSent += step
      if partialLeft == 0 {
        countSent(1)
        if !entries[head].isLost { entries[head].frameCount -= 1 }
      }
      if step == rest {
        head += 1
        headSent = 0
      }
    }
  }

  /// Must be called before `head` moves past the sent frames.
  private mutating func countSent(_ count: UInt64) {
    if entries[head].isLost {
      unsentNotificationCount -= entries[head].reportedCount
      unreportedLostCount -= entries[head].reportedCount
    } else if entries[head].isNotification {
      unsentNotificationCount -= count
    } else {
      unsentControlCount -= count
    }
  }

  mutating func forgetFront() {
    guard head >= 64, head * 2 >= entries.count else { return }
    entries.removeFirst(head)
    firstUnconsolidated = max(0, firstUnconsolidated - head)
    firstDroppable = max(0, firstDroppable - head)
    lastLost = lastLost.flatMap { $0 < head ? nil : $0 - head }
    head = 0
  }

  mutating func removeAll() {
    // A large array is freed, because an idle connection must take little memory.
    if entries.capacity <= 16 { entries.removeOneByOne() } else { entries = [] }
    ownBuffer = nil
    openEntry = .none
    openFrameCount = 0
    head = 0
    headSent = 0
    partialLeft = 0
    firstUnconsolidated = 0
    firstDroppable = 0
    lastLost = nil
    droppedCount = 0
    unsentCount = 0
    attachedCount = 0
    unsentNotificationCount = 0
    unreportedLostCount = 0
    unsentControlCount = 0
  }

  /// Copies short entries into buffers of the queue, because a few waiting bytes must not keep a whole
  /// receive buffer in memory. Afterwards, the queue takes at most a small multiple of `byteCount`, and one
  /// buffer more.
  mutating func consolidate(with pool: BufferPool) {
    closeEntry()
    // If drops have left large gaps in the buffers of the remaining frames, all short entries are copied.
    let isSpread = droppedCount > unsentCount
    if isSpread {
      droppedCount = 0
      firstUnconsolidated = 0
      ownBuffer = nil
    }
    var consolidated = Array(entries[head..<max(head, firstUnconsolidated)])
    for entry in entries[max(head, firstUnconsolidated)...] {
      guard entry.slice.count < Self.consolidatedLength, entry.slice.buffer.attachment == nil,
        isSpread || !entry.isConsolidated
      else {
        var entry = entry
        entry.isConsolidated = true
        consolidated.append(entry)
        continue
      }
      let own = capacity(for: entry.slice.count, from: pool)
      let start = own.count
      own.append(entry.slice.bytes)
      if !entry.isLost, let last = consolidated.last, last.slice.buffer === own, !last.isLost,
        last.isNotification == entry.isNotification, last.slice.range.upperBound == start
      {
        consolidated[consolidated.count - 1].extend(by: entry.slice.count, frames: Int(entry.frameCount))
        consolidated[consolidated.count - 1].isCut = entry.isCut
      } else {
        var moved = entry
        moved.slice = ByteSlice(own, start..<own.count)
        moved.isConsolidated = true
        consolidated.append(moved)
      }
    }
    entries = consolidated
    head = 0
    firstUnconsolidated = entries.count
    firstDroppable = 0
    lastLost = entries.lastIndex { $0.isLost }
  }

  private mutating func capacity(for count: Int, from pool: BufferPool) -> ByteBuffer {
    if let own = ownBuffer, own.capacity - own.count >= count { return own }
    let own = pool.take()
    ownBuffer = own
    return own
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The frames that wait for one connection to read them, in order: slices of the buffers that they came in.
///
/// Contiguous frames that are queued one after the other become one slice, so that a run of notifications is one
/// entry. Short frames are copied one behind the other, which costs less than an entry and an I/O vector for each.
/// All queued frames are whole, except in the first entry: `headSent` bytes of it have been sent. A long frame can
/// take two entries: its beginning and its rest.
///
/// Notifications can be dropped, the oldest first. A `lost` frame then takes their position and counts them. All
/// other frames stay until they are read. A frame that has been sent in part is never dropped.
///
/// A frame with an attachment is an entry of its own, in a buffer of its own. The attachment is sent with the first
/// byte, and its weight leaves the queue then.
nonisolated struct OutboundQueue: ~Copyable {
  struct Entry {
    var slice: ByteSlice
    var isNotification: Bool
    /// A `lost` frame, whose count can change until its first byte is sent.
    var isLost = false
    /// Whether it is in the queue's own buffer, or long enough to stay where it is.
    var isSettled = false
    /// Whether its last frame continues in the next entry.
    var isCut = false
    /// Frames that end in it and are not sent whole. A `lost` frame is not counted: it has its own count.
    var frameCount: UInt32 = 0

    init(_ slice: ByteSlice, isNotification: Bool, count: Int, isSettled: Bool = false) {
      self.slice = slice
      self.isNotification = isNotification
      self.isSettled = isSettled
      isCut = count == 0
      frameCount = UInt32(count)
    }

    /// An entry for the `lost` frame that fills `buffer`.
    init(lost buffer: ByteBuffer) {
      slice = ByteSlice(buffer, 0..<buffer.count)
      isNotification = false
      isLost = true
    }

    /// The number of notifications that a `lost` frame reports.
    var reportedCount: UInt64 { slice.bytes.lostCount(at: 0) }

    mutating func extend(by length: Int, frames count: Int) {
      slice.range = slice.range.lowerBound..<slice.range.upperBound + length
      isCut = count == 0
      frameCount += UInt32(count)
    }
  }

  /// The kind of the last entry, if it ends where the queue's own buffer ends, so that frames can be added to it.
  private enum OpenEntry {
    case none
    case notification
    case other
  }

  /// Frames that have at most this many bytes together are copied.
  private static let copiedLength = 1024

  /// Slices of at least this many bytes stay in the buffer that they came in, even if that keeps the buffer in memory.
  private static let settledLength = 8192

  // The fields that the copy of a short frame uses come first and are contiguous: if one frame goes to many queues,
  // nothing costs as much as fetching each queue's memory.

  /// The buffer for copies of short frames, and of small slices that have to wait.
  private var ownBuffer: ByteBuffer?
  private var openEntry = OpenEntry.none
  /// Frames copied behind the open entry that it does not include yet (`completeEntry()`).
  private var openFrameCount: UInt32 = 0
  /// Unsent bytes in the queue.
  var unsentCount = 0
  /// Bytes of the unsent attachments.
  var attachedCount = 0
  /// Notifications that the reader has not received whole, and lost ones not yet reported to it: it would miss all
  /// these if the queue were gone.
  var unsentNotificationCount: UInt64 = 0
  /// Other frames that the reader has not received whole. The hello is one.
  var unsentOtherCount: UInt64 = 0

  var entries: [Entry] = []
  /// Index of the first entry that is left.
  var head = 0
  var headSent = 0
  /// Unsent bytes of a frame that has been sent in part. They can extend into the second entry.
  var partialLeft = 0
  var firstUnsettled = 0
  /// No entry before this index is a notification that can be dropped.
  var firstDroppable = 0
  /// Index of the last `lost` frame, if there is one.
  var lastLost: Int?
  /// Bytes dropped since the whole queue was last copied.
  var droppedCount = 0

  /// Unsent bytes, with those of attachments: the weight of the queue.
  var byteCount: Int { unsentCount + attachedCount }
  /// All notifications dropped so far, from this queue or before they reached it.
  var lostCount: UInt64 = 0
  /// Dropped notifications that have not been reported to the reader.
  var unreportedLostCount: UInt64 = 0
  /// The cost of dropping so far: entries that were examined or moved.
  var dropEffort = 0
  /// Whether a frame has been sent in part.
  var isMidFrame: Bool { partialLeft > 0 }

  init() {}

  /// The attachment that has to go with the next byte.
  var nextFile: (any AttachedFile)? {
    attachedCount > 0 && headSent == 0 ? entries[head].slice.buffer.attachment : nil
  }

  var isEmpty: Bool { head == entries.count }

  /// Extends the last entry by a slice that follows it in the same buffer.
  ///
  /// - Returns: false if `slice` does not follow the last entry, or is of another kind.
  @inline(__always) private mutating func extendLast(
    by slice: ByteSlice, isNotification: Bool, count: Int
  ) -> Bool {
    let last = entries.count - 1
    guard last >= head, entries[last].slice.buffer === slice.buffer,
      entries[last].slice.range.upperBound == slice.range.lowerBound,
      entries[last].isNotification == isNotification, !entries[last].isLost, !entries[last].isSettled
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
      unsentOtherCount += UInt64(count)
    }
  }

  /// Whether the frames are short enough to be copied.
  static func copies(_ slice: ByteSlice) -> Bool {
    slice.count <= copiedLength && slice.buffer.attachment == nil
  }

  /// Copies short frames behind those of the open entry. Inlined, for the loop over the receivers of a post.
  ///
  /// - Returns: false if there is no such entry, or no space for them in the queue's own buffer.
  @inline(__always) mutating func extendOpenEntry(
    by slice: ByteSlice, isNotification: Bool, count: Int
  ) -> Bool {
    guard openEntry == (isNotification ? .notification : .other), count > 0 else { return false }
    // Moved out and back: a copy of the reference would be counted.
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

  /// Queues whole frames. Short ones are copied into a buffer of `pool` if others wait already. A queue with few bytes
  /// copies only if the pool has a free buffer: otherwise many such queues would hold much memory.
  ///
  /// - Parameters:
  ///   - count: frames in `slice`; 0 for the beginning of a frame, which is counted with its rest, queued next.
  ///   - pool: nil to copy nothing.
  mutating func append(
    _ slice: ByteSlice, isNotification: Bool, count: Int = 1, copyingInto pool: BufferPool? = nil
  ) {
    if let pool, Self.copies(slice) {
      if extendOpenEntry(by: slice, isNotification: isNotification, count: count) { return }
      if !isEmpty {
        // Control frames of one connection often lie behind each other.
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

  /// - Returns: false if the pool has no buffer, and the queue has too little in it to allocate one.
  private mutating func copyToOwnBuffer(_ slice: ByteSlice, from pool: BufferPool) -> Bool {
    if ownBuffer?.append(ifItFits: slice.bytes) == true { return true }
    guard let fresh = unsentCount < Self.copiedLength ? pool.takeIfFree() : pool.take() else { return false }
    ownBuffer = fresh
    fresh.append(slice.bytes)
    return true
  }

  /// Adds an entry for the bytes just copied to the end of the queue's own buffer.
  private mutating func addCopied(_ length: Int, isNotification: Bool, count: Int) {
    guard let own = ownBuffer else { preconditionFailure("a queue that copies has a buffer") }
    unsentCount += length
    add(count, isNotification: isNotification)
    if firstUnsettled == entries.count { firstUnsettled += 1 }
    let copy = ByteSlice(own, own.count - length..<own.count)
    entries.append(Entry(copy, isNotification: isNotification, count: count, isSettled: true))
  }

  /// Extends the open entry by the frames copied behind it. Call this before reading the length or the frame count of
  /// the last entry.
  mutating func completeEntry() {
    guard openFrameCount > 0 else { return }
    guard let own = ownBuffer else { preconditionFailure("an open entry lies in the queue's own buffer") }
    let last = entries.count - 1
    entries[last].extend(by: own.count - entries[last].slice.range.upperBound, frames: Int(openFrameCount))
    openFrameCount = 0
  }

  /// Closes the last entry: nothing more is copied behind it.
  mutating func closeEntry() {
    completeEntry()
    openEntry = .none
  }

  /// The first frame, whole. The queue must not be empty, and no part of the frame may have been sent.
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

  /// Calls `body` with each range of bytes that can be sent at once, in order, until it returns false. An unsent
  /// attachment always belongs to the first of them.
  func forEachUnsent(_ body: (Range<Int>, ByteBuffer) -> Bool) {
    var sent = headSent
    // A span lends its elements, where an array copies them.
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

  /// Removes `count` sent bytes from the front.
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

  /// Moves past sent bytes, and subtracts the frames that end there from the counts. Only the frames of an entry that
  /// has been sent in part are examined one by one.
  private mutating func moveOn(by count: Int) {
    var left = count
    while left > 0 {
      let rest = entries[head].slice.count - headSent
      if partialLeft == 0 {
        if left >= rest, !entries[head].isCut {
          noteSent(UInt64(entries[head].frameCount))
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
        noteSent(1)
        if !entries[head].isLost { entries[head].frameCount -= 1 }
      }
      if step == rest {
        head += 1
        headSent = 0
      }
    }
  }

  /// Subtracts `count` frames of the first entry, which have been sent whole, from the counts.
  private mutating func noteSent(_ count: UInt64) {
    if entries[head].isLost {
      unsentNotificationCount -= entries[head].reportedCount
      unreportedLostCount -= entries[head].reportedCount
    } else if entries[head].isNotification {
      unsentNotificationCount -= count
    } else {
      unsentOtherCount -= count
    }
  }

  /// Frees the entries before `head` if they are many.
  mutating func forgetFront() {
    guard head >= 64, head * 2 >= entries.count else { return }
    entries.removeFirst(head)
    firstUnsettled = max(0, firstUnsettled - head)
    firstDroppable = max(0, firstDroppable - head)
    lastLost = lastLost.flatMap { $0 < head ? nil : $0 - head }
    head = 0
  }

  mutating func removeAll() {
    // An idle connection keeps no capacity for a queue that was long once.
    if entries.capacity <= 16 { entries.removeOneByOne() } else { entries = [] }
    ownBuffer = nil
    openEntry = .none
    openFrameCount = 0
    head = 0
    headSent = 0
    partialLeft = 0
    firstUnsettled = 0
    firstDroppable = 0
    lastLost = nil
    droppedCount = 0
    unsentCount = 0
    attachedCount = 0
    unsentNotificationCount = 0
    unreportedLostCount = 0
    unsentOtherCount = 0
  }

  /// Copies small slices that have to wait into a buffer of the queue's own, so that a few waiting bytes do not keep
  /// a whole receive buffer. The queue's memory stays within a small factor of `byteCount`.
  mutating func settle(with pool: BufferPool) {
    closeEntry()
    // Dropped frames leave gaps in the buffers of the others.
    let isSpread = droppedCount > unsentCount
    if isSpread {
      droppedCount = 0
      firstUnsettled = 0
      ownBuffer = nil
    }
    var settled = Array(entries[head..<max(head, firstUnsettled)])
    for entry in entries[max(head, firstUnsettled)...] {
      guard entry.slice.count < Self.settledLength, entry.slice.buffer.attachment == nil,
        isSpread || !entry.isSettled
      else {
        var entry = entry
        entry.isSettled = true
        settled.append(entry)
        continue
      }
      let own = capacity(for: entry.slice.count, from: pool)
      let start = own.count
      own.append(entry.slice.bytes)
      if !entry.isLost, let last = settled.last, last.slice.buffer === own, !last.isLost,
        last.isNotification == entry.isNotification, last.slice.range.upperBound == start
      {
        settled[settled.count - 1].extend(by: entry.slice.count, frames: Int(entry.frameCount))
        settled[settled.count - 1].isCut = entry.isCut
      } else {
        var moved = entry
        moved.slice = ByteSlice(own, start..<own.count)
        moved.isSettled = true
        settled.append(moved)
      }
    }
    entries = settled
    head = 0
    firstUnsettled = entries.count
    firstDroppable = 0
    lastLost = entries.lastIndex { $0.isLost }
  }

  /// The queue's own buffer, with capacity for `count` more bytes.
  private mutating func capacity(for count: Int, from pool: BufferPool) -> ByteBuffer {
    if let own = ownBuffer, own.capacity - own.count >= count { return own }
    let own = pool.take()
    ownBuffer = own
    return own
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What waits for one connection to read it: slices of the buffers that the frames came in, in order.
///
/// Frames that lie behind each other and are queued behind each other become one slice, so that a run of
/// notifications is one entry. Short ones are copied behind each other: for them, that costs less than an entry and
/// a part of their own in the call that sends it.
/// Whatever is queued is whole frames, but for the first entry, of which `headSent` bytes may be gone. A long frame can
/// be two entries: its beginning and its rest.
///
/// Notifications can be dropped, the oldest first; a `lost` frame then stands where they stood and counts
/// them. Everything else stays until it is read. A frame of which a part has been sent is never dropped.
///
/// A frame with an attachment is an entry of its own, in a buffer of its own. The attachment goes with the first
/// byte, and with it its weight.
nonisolated struct OutboundQueue: ~Copyable {
  struct Entry {
    var slice: ByteSlice
    var isNotification: Bool
    /// The `lost` frame, whose count can still be changed while nothing of it has been sent.
    var isLost = false
    /// Lies in the queue's own buffer, or is long enough to stay where it is.
    var isSettled = false
    /// Its last frame goes on in the next entry.
    var isCut = false
    /// Frames that end in it and have not been sent whole. A `lost` frame is none: what it tells of counts.
    var frameCount: UInt32 = 0

    init(_ slice: ByteSlice, isNotification: Bool, count: Int, isSettled: Bool = false) {
      self.slice = slice
      self.isNotification = isNotification
      self.isSettled = isSettled
      isCut = count == 0
      frameCount = UInt32(count)
    }

    /// The `lost` frame that is all of `buffer`.
    init(lost buffer: ByteBuffer) {
      slice = ByteSlice(buffer, 0..<buffer.count)
      isNotification = false
      isLost = true
    }

    /// What a `lost` frame tells of.
    var toldCount: UInt64 { slice.bytes.lostCount(at: 0) }

    mutating func extend(by length: Int, frames count: Int) {
      slice.range = slice.range.lowerBound..<slice.range.upperBound + length
      isCut = count == 0
      frameCount += UInt32(count)
    }
  }

  /// What the last entry is, if it ends where the queue's own buffer does and more can be added to it.
  private enum OpenEntry {
    case none
    case notification
    case other
  }

  /// Frames of up to this length together are copied.
  private static let copiedLength = 1024

  /// Slices from this length on stay in the buffer that they came in, even if it waits with them.
  private static let settledLength = 8192

  // What a short frame touches that is copied behind others comes first, and lies together: where one goes to many
  // queues in turn, nothing costs as much as to fetch each queue's memory.

  /// Where short frames are copied to, and small slices that have to wait.
  private var ownBuffer: ByteBuffer?
  private var openEntry = OpenEntry.none
  /// Frames that were copied behind the open entry and that it does not have yet (`completeEntry()`).
  private var openFrameCount: UInt32 = 0
  /// Bytes in the queue that have not been sent.
  var unsentCount = 0
  /// Bytes of the attachments that have not been sent.
  var attachedCount = 0
  /// Notifications that the reader has not got whole, with those that it has not been told are lost: what it would
  /// miss if the queue were gone.
  var unsentNotificationCount: UInt64 = 0
  /// Other frames that it has not got whole. The hello is one.
  var unsentOtherCount: UInt64 = 0

  var entries: [Entry] = []
  /// The first entry that is left.
  var head = 0
  var headSent = 0
  /// Bytes that are left of a frame of which a part has been sent. They can reach into the second entry.
  var begunLeft = 0
  var firstUnsettled = 0
  /// No entry before it is a notification that can be dropped.
  var firstDroppable = 0
  /// The last `lost` frame, if one is in the queue.
  var lastLost: Int?
  /// Bytes that were dropped since all that waits was copied together.
  var droppedCount = 0

  /// Bytes that have not been sent, with those of attachments: what the queue weighs.
  var byteCount: Int { unsentCount + attachedCount }
  /// Notifications that were dropped from this queue, ever.
  var lostCount: UInt64 = 0
  /// Those of them of which the reader has not been told.
  var untoldLostCount: UInt64 = 0
  /// What dropping took: entries that were looked at or moved, ever.
  var dropEffort = 0
  /// A part of a frame has been sent.
  var isMidFrame: Bool { begunLeft > 0 }

  init() {}

  /// The attachment that has to go with the next byte.
  var nextFile: (any AttachedFile)? {
    attachedCount > 0 && headSent == 0 ? entries[head].slice.buffer.attachment : nil
  }

  var isEmpty: Bool { head == entries.count }

  /// Adds to the last entry what lies behind it.
  ///
  /// - Returns: whether it does, and is of the same kind.
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

  /// Queues whole frames. Short ones are copied into a buffer of `pool` if others wait already. A queue with little in it
  /// does so only where the pool has a buffer, so that many of those do not hold much.
  ///
  /// - Parameters:
  ///   - count: frames in `slice`; 0 for the beginning of one, whose rest is queued next and counts.
  ///   - pool: nil to copy nothing.
  mutating func append(
    _ slice: ByteSlice, isNotification: Bool, count: Int = 1, copyingInto pool: BufferPool? = nil
  ) {
    let kind = isNotification ? OpenEntry.notification : .other
    if let pool, slice.count <= Self.copiedLength, slice.buffer.attachment == nil {
      if openEntry == kind, count > 0, ownBuffer?.append(ifItFits: slice.bytes) == true {
        openFrameCount += UInt32(count)
        unsentCount += slice.count
        add(count, isNotification: isNotification)
        return
      }
      if !isEmpty {
        // Control frames of one connection often lie behind each other.
        if openEntry == .none, extendLast(by: slice, isNotification: isNotification, count: count) { return }
        closeEntry()
        if copyToOwnBuffer(slice, from: pool) {
          addCopied(slice.count, isNotification: isNotification, count: count)
          openEntry = kind
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

  /// Adds an entry for what was copied to the end of the queue's own buffer.
  private mutating func addCopied(_ length: Int, isNotification: Bool, count: Int) {
    guard let own = ownBuffer else { preconditionFailure("a queue that copies has a buffer") }
    unsentCount += length
    add(count, isNotification: isNotification)
    if firstUnsettled == entries.count { firstUnsettled += 1 }
    let copy = ByteSlice(own, own.count - length..<own.count)
    entries.append(Entry(copy, isNotification: isNotification, count: count, isSettled: true))
  }

  /// Gives the open entry what was copied behind it. Whoever looks at how long the last entry is, or at how many frames
  /// it has, does this first.
  mutating func completeEntry() {
    guard openFrameCount > 0 else { return }
    guard let own = ownBuffer else { preconditionFailure("what is open lies in the queue's own buffer") }
    let last = entries.count - 1
    entries[last].extend(
      by: own.count - entries[last].slice.range.upperBound, frames: Int(openFrameCount))
    openFrameCount = 0
  }

  /// Nothing more is copied behind the last entry.
  mutating func closeEntry() {
    completeEntry()
    openEntry = .none
  }

  /// Calls `body` with each range of bytes that can be sent at once, in order, until it returns false. An
  /// attachment that has not been sent is always with the first of them.
  func forEachUnsent(_ body: (Range<Int>, ByteBuffer) -> Bool) {
    var sent = headSent
    for index in head..<entries.count {
      let range = entries[index].slice.range
      if index > head, entries[index].slice.buffer.attachment != nil { return }
      let end = openFrameCount > 0 && index == entries.count - 1 ? ownBuffer?.count : nil
      guard body(range.lowerBound + sent..<(end ?? range.upperBound), entries[index].slice.buffer) else {
        return
      }
      sent = 0
    }
  }

  /// Takes `count` bytes off the front, which have been sent.
  ///
  /// - Returns: whether nothing is left.
  @discardableResult
  mutating func consume(_ count: Int) -> Bool {
    precondition(count <= unsentCount)
    unsentCount -= count
    if attachedCount > 0, count > 0, headSent == 0 {
      attachedCount -= entries[head].slice.buffer.attachment?.length ?? 0
    }
    if unsentCount == 0 {
      removeAll()
      return true
    }
    completeEntry()
    moveOn(by: count)
    forgetFront()
    return false
  }

  /// Moves past bytes that have been sent, and takes the frames that end there off what is counted. Only those of an
  /// entry of which a part is left are looked at one by one.
  private mutating func moveOn(by count: Int) {
    var left = count
    while left > 0 {
      let rest = entries[head].slice.count - headSent
      if begunLeft == 0 {
        if left >= rest, !entries[head].isCut {
          noteSent(UInt64(entries[head].frameCount))
          left -= rest
          head += 1
          headSent = 0
          continue
        }
        begunLeft = entries[head].slice.buffer.frameLength(
          at: entries[head].slice.range.lowerBound + headSent)
      }
      let step = min(left, rest, begunLeft)
      left -= step
      begunLeft -= step
      headSent += step
      if begunLeft == 0 {
        noteSent(1)
        if !entries[head].isLost { entries[head].frameCount -= 1 }
      }
      if step == rest {
        head += 1
        headSent = 0
      }
    }
  }

  /// So many frames that end in the first entry have been sent whole.
  private mutating func noteSent(_ count: UInt64) {
    if entries[head].isLost {
      unsentNotificationCount -= entries[head].toldCount
      untoldLostCount -= entries[head].toldCount
    } else if entries[head].isNotification {
      unsentNotificationCount -= count
    } else {
      unsentOtherCount -= count
    }
  }

  /// Gives back the room of the entries before the first that is left, if they are many.
  mutating func forgetFront() {
    guard head >= 64, head * 2 >= entries.count else { return }
    entries.removeFirst(head)
    firstUnsettled = max(0, firstUnsettled - head)
    firstDroppable = max(0, firstDroppable - head)
    lastLost = lastLost.flatMap { $0 < head ? nil : $0 - head }
    head = 0
  }

  /// Forgets everything.
  mutating func removeAll() {
    if entries.count == 1, entries.capacity <= 16 {
      entries.removeLast()
    } else {
      // An idle connection keeps no room for a queue that was long once.
      entries.removeAll(keepingCapacity: entries.capacity <= 16)
    }
    ownBuffer = nil
    openEntry = .none
    openFrameCount = 0
    head = 0
    headSent = 0
    begunLeft = 0
    firstUnsettled = 0
    firstDroppable = 0
    lastLost = nil
    droppedCount = 0
    unsentCount = 0
    attachedCount = 0
    unsentNotificationCount = 0
    untoldLostCount = 0
    unsentOtherCount = 0
  }

  /// Copies what is small and has to wait into a buffer of the queue's own, so that a few bytes that
  /// wait do not keep a whole receive buffer: what the queue holds in memory stays within a small factor
  /// of `byteCount`.
  mutating func settle(with pool: BufferPool) {
    closeEntry()
    // What was dropped leaves gaps in the buffers of what was not.
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
      let own = room(for: entry.slice.count, from: pool)
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

  /// The queue's own buffer, with room for `count` more bytes.
  private mutating func room(for count: Int, from pool: BufferPool) -> ByteBuffer {
    if let own = ownBuffer, own.capacity - own.count >= count { return own }
    let own = pool.take()
    ownBuffer = own
    return own
  }
}

// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What waits for one connection to read it: slices of the buffers that the frames came in, in order.
///
/// Frames that lie behind each other and are queued behind each other become one slice, so that a run of
/// notifications is one entry. Short ones are copied behind each other: for them, that costs less than an entry and
/// a part of their own in the call that sends it.
/// Whatever is queued is whole frames, but for the first entry, of which `headSent` bytes may be gone.
///
/// Notifications can be dropped, the oldest first; a `lost` frame then stands where they stood and counts
/// them. Everything else stays until it is read. A frame of which a part has been sent is never dropped.
///
/// A frame with an attachment is an entry of its own, in a buffer of its own. The attachment goes with the first
/// byte, and with it its weight.
@usableFromInline package struct OutboundQueue: ~Copyable {
  private struct Entry {
    var slice: ByteSlice
    var isNotification: Bool
    /// The `lost` frame, whose count can still be changed while nothing of it has been sent.
    var isLost = false
    /// Lies in the queue's own buffer, or is long enough to stay where it is.
    var isSettled = false

    mutating func extend(by count: Int) {
      slice.range = slice.range.lowerBound..<slice.range.upperBound + count
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

  private var entries: [Entry] = []
  /// The first entry that is left.
  private var head = 0
  private var headSent = 0
  private var firstUnsettled = 0
  /// No entry before it is a notification that can be dropped.
  private var firstDroppable = 0
  /// The last `lost` frame, if one is in the queue.
  private var lastLost: Int?
  /// Bytes that were dropped since all that waits was copied together.
  private var droppedCount = 0
  /// Where short frames are copied to, and small slices that have to wait.
  private var ownBuffer: ByteBuffer?
  private var openEntry = OpenEntry.none

  /// Bytes in the queue that have not been sent.
  @usableFromInline var unsentCount = 0
  /// Bytes of the attachments that have not been sent.
  @usableFromInline var attachedCount = 0
  /// Bytes that have not been sent, with those of attachments: what the queue weighs.
  @inlinable package var byteCount: Int { unsentCount + attachedCount }
  /// Notifications that were dropped from this queue, ever.
  package private(set) var lostCount: UInt64 = 0
  /// What dropping took: entries that were looked at or moved, ever.
  package private(set) var dropEffort = 0

  package init() {}

  /// The attachment that has to go with the next byte.
  package var nextFile: (any AttachedFile)? {
    attachedCount > 0 && headSent == 0 ? entries[head].slice.buffer.attachment : nil
  }

  package var isEmpty: Bool { head == entries.count }

  /// Queues whole frames.
  package mutating func append(_ slice: ByteSlice, isNotification: Bool) {
    openEntry = .none
    unsentCount += slice.count
    if let attachment = slice.buffer.attachment { attachedCount += attachment.length }
    if let last = entries.indices.last, last >= head, entries[last].isNotification == isNotification,
      !entries[last].isLost, !entries[last].isSettled, entries[last].slice.buffer === slice.buffer,
      entries[last].slice.range.upperBound == slice.range.lowerBound
    {
      entries[last].slice.range = entries[last].slice.range.lowerBound..<slice.range.upperBound
      if isNotification { firstDroppable = min(firstDroppable, last) }
      return
    }
    entries.append(Entry(slice: slice, isNotification: isNotification))
  }

  /// Queues whole frames, of which short ones are copied into a buffer of `pool` if others wait already. A queue with
  /// little in it does so only where the pool has a buffer, so that many of those do not hold much.
  package mutating func append(_ slice: ByteSlice, isNotification: Bool, copyingInto pool: BufferPool) {
    guard slice.count <= Self.copiedLength, !isEmpty, slice.buffer.attachment == nil else {
      append(slice, isNotification: isNotification)
      return
    }
    let kind = isNotification ? OpenEntry.notification : .other
    if ownBuffer?.append(ifItFits: slice.bytes) == true {
      unsentCount += slice.count
      if openEntry == kind {
        let last = entries.count - 1
        entries[last].extend(by: slice.count)
        if isNotification, firstDroppable > last { firstDroppable = last }
        return
      }
    } else if let fresh = unsentCount < Self.copiedLength ? pool.takeIfFree() : pool.take() {
      ownBuffer = fresh
      fresh.append(slice.bytes)
      unsentCount += slice.count
    } else {
      append(slice, isNotification: isNotification)
      return
    }
    guard let own = ownBuffer else { preconditionFailure("a queue that copies has a buffer") }
    if firstUnsettled == entries.count { firstUnsettled += 1 }
    let copy = ByteSlice(own, own.count - slice.count..<own.count)
    entries.append(Entry(slice: copy, isNotification: isNotification, isSettled: true))
    openEntry = kind
  }

  /// Calls `body` with each range of bytes that can be sent at once, in order, until it returns false. An
  /// attachment that has not been sent is always with the first of them.
  package func forEachUnsent(_ body: (Range<Int>, ByteBuffer) -> Bool) {
    var sent = headSent
    for index in head..<entries.count {
      let range = entries[index].slice.range
      if index > head, entries[index].slice.buffer.attachment != nil { return }
      guard body(range.lowerBound + sent..<range.upperBound, entries[index].slice.buffer) else { return }
      sent = 0
    }
  }

  /// Takes `count` bytes off the front, which have been sent.
  ///
  /// - Returns: whether nothing is left.
  @discardableResult
  package mutating func consume(_ count: Int) -> Bool {
    precondition(count <= unsentCount)
    unsentCount -= count
    if attachedCount > 0, count > 0, headSent == 0 {
      attachedCount -= entries[head].slice.buffer.attachment?.length ?? 0
    }
    if unsentCount == 0 {
      removeAll()
      return true
    }
    headSent += count
    while head < entries.count, headSent >= entries[head].slice.count {
      headSent -= entries[head].slice.count
      head += 1
    }
    forgetFront()
    return false
  }

  /// Gives back the room of the entries before the first that is left, if they are many.
  private mutating func forgetFront() {
    guard head >= 64, head * 2 >= entries.count else { return }
    entries.removeFirst(head)
    firstUnsettled = max(0, firstUnsettled - head)
    firstDroppable = max(0, firstDroppable - head)
    lastLost = lastLost.flatMap { $0 < head ? nil : $0 - head }
    head = 0
  }

  /// Forgets everything.
  package mutating func removeAll() {
    if entries.count == 1, entries.capacity <= 16 {
      entries.removeLast()
    } else {
      // An idle connection keeps no room for a queue that was long once.
      entries.removeAll(keepingCapacity: entries.capacity <= 16)
    }
    ownBuffer = nil
    openEntry = .none
    head = 0
    headSent = 0
    firstUnsettled = 0
    firstDroppable = 0
    lastLost = nil
    droppedCount = 0
    unsentCount = 0
    attachedCount = 0
  }

  /// Copies what is small and has to wait into a buffer of the queue's own, so that a few bytes that
  /// wait do not keep a whole receive buffer: what the queue holds in memory stays within a small factor
  /// of `byteCount`.
  package mutating func settle(with pool: BufferPool) {
    openEntry = .none
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
        settled[settled.count - 1].slice.range = last.slice.range.lowerBound..<own.count
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

  /// Drops the oldest notifications until at most `target` bytes are left, or no notification is. What that costs
  /// follows what is dropped, however much waits.
  ///
  /// - Returns: how many were dropped.
  @discardableResult
  package mutating func dropOldest(downTo target: Int) -> UInt64 {
    guard byteCount > target else { return 0 }
    openEntry = .none
    let start = max(head, firstDroppable)
    var index = start
    var kept: [Entry] = []
    var dropped: UInt64 = 0
    var firstDropped: Int?

    while index < entries.count, byteCount > target {
      let entry = entries[index]
      if entry.isNotification {
        let isBegun = index == head && headSent > 0
        let (begun, rest, count) = drop(from: entry, isBegun: isBegun, downTo: target)
        if let begun { kept.append(begun) }
        if count > 0, firstDropped == nil { firstDropped = kept.count }
        if let rest { kept.append(rest) }
        dropped += count
      } else {
        kept.append(entry)
      }
      index += 1
    }
    dropEffort += index - start
    guard let firstDropped else {
      firstDroppable = index
      return 0
    }
    lostCount += dropped
    let place = replace(start..<index, with: kept)
    firstDroppable = place + kept.count - (kept.last?.isNotification == true ? 1 : 0)
    tell(dropped, at: lostPlace(before: place + kept.count, in: place) ?? place + firstDropped)
    forgetFront()
    return dropped
  }

  /// The `lost` frame that counts what was dropped in front of `end`: the last before it, since one further back in the
  /// queue tells of what came later.
  ///
  /// - Parameter start: where what was looked at begins. Where there is one further back, those before it are not
  ///   looked for any farther.
  private func lostPlace(before end: Int, in start: Int) -> Int? {
    guard let lastLost else { return nil }
    let found = lastLost < end ? lastLost : (max(head, start - 1)..<end).last { entries[$0].isLost }
    // One of which a part has been sent says what it says.
    return found.flatMap { $0 > head || $0 == head && headSent == 0 ? $0 : nil }
  }

  /// Drops the oldest frames of a notification's entry, but for one that is begun.
  ///
  /// - Returns: what stays of it, before and behind what was dropped, and how much that was.
  private mutating func drop(
    from entry: Entry, isBegun: Bool, downTo target: Int
  ) -> (begun: Entry?, rest: Entry?, count: UInt64) {
    var (begun, rest) = (entry, entry)
    var start = entry.slice.range.lowerBound
    let end = entry.slice.range.upperBound
    if isBegun {
      let sentUpTo = start + headSent
      while start < sentUpTo { start += entry.slice.buffer.frameLength(at: start) }
      begun.slice.range = entry.slice.range.lowerBound..<start
    }
    var count: UInt64 = 0
    while start < end, byteCount > target {
      let length = entry.slice.buffer.frameLength(at: start)
      unsentCount -= length
      droppedCount += length
      if let attachment = entry.slice.buffer.attachment { attachedCount -= attachment.length }
      start += length
      count += 1
    }
    rest.slice.range = start..<end
    return (isBegun ? begun : nil, start < end ? rest : nil, count)
  }

  /// Puts `kept` in the place of `entries[range]`, which moves what is before it or what is behind, whichever is less.
  ///
  /// - Returns: where `kept` begins.
  private mutating func replace(_ range: Range<Int>, with kept: [Entry]) -> Int {
    let gap = range.count - kept.count
    // What is left before the first entry stays in memory for a while, which attachments must not.
    let movesFront =
      gap > 0 && range.lowerBound - head < entries.count - range.upperBound
      && !entries[head..<range.upperBound].contains { $0.slice.buffer.attachment != nil }
    let (before, behind) = movesFront ? (gap, 0) : (0, -gap)
    let start = range.lowerBound + before
    dropEffort += movesFront ? range.lowerBound - head : entries.count - range.upperBound
    if movesFront {
      for place in stride(from: range.lowerBound - 1, through: head, by: -1) {
        entries[place + gap] = entries[place]
      }
      for (offset, entry) in kept.enumerated() { entries[start + offset] = entry }
      head += gap
    } else {
      entries.replaceSubrange(range, with: kept)
    }
    if firstUnsettled >= range.upperBound {
      firstUnsettled += behind
    } else if firstUnsettled > head - before {
      firstUnsettled = min(firstUnsettled, range.lowerBound) + before
    }
    if let lost = lastLost {
      if lost < range.lowerBound {
        lastLost = lost + before
      } else if lost >= range.upperBound {
        lastLost = lost + behind
      } else {
        lastLost = kept.lastIndex { $0.isLost }.map { start + $0 }
      }
    }
    return start
  }

  /// Says that notifications were dropped before they came to be queued here.
  package mutating func appendLost(_ count: UInt64) {
    lostCount += count
    openEntry = .none
    tell(count, at: entries.count)
  }

  /// Puts a `lost` frame at `place`, or adds to the one that stands there.
  private mutating func tell(_ dropped: UInt64, at place: Int) {
    let countOffset = FrameHeader.length
    if place < entries.count, entries[place].isLost {
      let slice = entries[place].slice
      let before = slice.bytes.integer(at: countOffset, as: UInt64.self)
      slice.buffer.store(before + dropped, at: slice.range.lowerBound + countOffset)
      return
    }
    let buffer = ByteBuffer(capacity: FrameHeader.length + 8)
    buffer.appendFrame(Lost(count: dropped), serial: 0)
    entries.insert(
      Entry(slice: ByteSlice(buffer, 0..<buffer.count), isNotification: false, isLost: true), at: place)
    unsentCount += buffer.count
    lastLost = lastLost.map { max($0 + ($0 >= place ? 1 : 0), place) } ?? place
    if firstDroppable > place { firstDroppable += 1 }
    if firstUnsettled > place { firstUnsettled = place }
  }
}

extension ByteBuffer {
  /// The length of the frame at `offset`, which was checked when it came in.
  func frameLength(at offset: Int) -> Int {
    Int(bytes.integer(at: offset, as: UInt32.self))
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Drops the oldest notifications, and reports them as lost.
nonisolated extension OutboundQueue {
  /// Drops notifications until at most `target` bytes are left. Returns the number of dropped notifications.
  /// Over many drops, the average cost does not grow with the queue's length.
  @discardableResult
  mutating func dropOldest(downTo target: Int) -> UInt64 {
    guard byteCount > target else { return 0 }
    closeEntry()
    let start = max(head, firstDroppable)
    var index = start
    var kept: [Entry] = []
    var dropped: UInt64 = 0
    var firstDropped: Int?

    while index < entries.count, byteCount > target {
      let entry = entries[index]
      if entry.isNotification {
        let (partial, rest, count) = drop(from: entry, isFirst: index == head, downTo: target)
        if let partial { kept.append(partial) }
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
    insertLost(dropped, at: lostPlace(before: place + kept.count, in: place) ?? place + firstDropped)
    forgetFront()
    return dropped
  }

  /// The index of an unsent `lost` frame that can report the drops; nil if there is none. Tries the queue's
  /// last `lost` frame if that one is before `end`. If not, searches from `end` back to the entry before
  /// `start`.
  private func lostPlace(before end: Int, in start: Int) -> Int? {
    guard let lastLost else { return nil }
    let found = lastLost < end ? lastLost : (max(head, start - 1)..<end).last { entries[$0].isLost }
    return found.flatMap { $0 > head || $0 == head && partialLeft == 0 ? $0 : nil }
  }

  /// Drops the oldest notifications of an entry, but never a partly sent one.
  ///
  /// - Returns: an entry with the partly sent frame, an entry with the frames behind the dropped ones, and
  ///   the number of drops. Each entry is nil if it would have no frame.
  private mutating func drop(
    from entry: Entry, isFirst: Bool, downTo target: Int
  ) -> (partial: Entry?, rest: Entry?, count: UInt64) {
    var (partial, rest) = (entry, entry)
    var start = entry.slice.range.lowerBound
    let end = entry.slice.range.upperBound
    let isPartial = isFirst && partialLeft > 0
    if isFirst { start += headSent + partialLeft }
    if isPartial {
      partial.slice.range = entry.slice.range.lowerBound..<start
      partial.frameCount = 1
      rest.frameCount -= 1
    } else if isFirst {
      headSent = 0
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
    rest.frameCount -= UInt32(count)
    return (isPartial ? partial : nil, start < end ? rest : nil, count)
  }

  /// Replaces the entries in `range` by `kept`. If `kept` is shorter, and fewer entries precede the range
  /// than follow it, usually moves the entries before the range. In all other cases, moves the entries behind
  /// the range.
  ///
  /// - Returns: the index of the first entry of `kept`.
  private mutating func replace(_ range: Range<Int>, with kept: [Entry]) -> Int {
    let gap = range.count - kept.count
    // If the front moves, copies of the moved entries stay in the array before `head` for a while. A copy
    // with an attachment would keep its file open, so entries with attachments prevent the move.
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
    if firstUnconsolidated >= range.upperBound {
      firstUnconsolidated += behind
    } else if firstUnconsolidated > head - before {
      firstUnconsolidated = min(firstUnconsolidated, range.lowerBound) + before
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

  mutating func appendLost(_ count: UInt64) {
    lostCount += count
    appendReport(of: count)
  }

  /// Appends a `lost` frame for losses that this queue, or the backlog, has already counted.
  mutating func appendReport(of count: UInt64) {
    unsentNotificationCount += count
    closeEntry()
    // Consecutive losses share one `lost` frame.
    let last = entries.count - 1
    let hasUnsentLost = last >= head && entries[last].isLost && (last > head || headSent == 0)
    insertLost(count, at: hasUnsentLost ? last : entries.count)
  }

  mutating func prependLost(_ count: UInt64) {
    lostCount += count
    unsentNotificationCount += count
    closeEntry()
    insertLost(count, at: head)
  }

  /// Inserts a `lost` frame at `place`. If one is there already, increases the count in that frame instead.
  /// `unsentNotificationCount` must already include the `dropped` notifications.
  private mutating func insertLost(_ dropped: UInt64, at place: Int) {
    unreportedLostCount += dropped
    if place < entries.count, entries[place].isLost {
      let slice = entries[place].slice
      slice.buffer.setLostCount(entries[place].reportedCount + dropped, frameAt: slice.range.lowerBound)
      return
    }
    let buffer = ByteBuffer(capacity: Lost.frameLength)
    buffer.appendFrame(Lost(count: dropped), serial: 0)
    entries.insert(Entry(lost: buffer), at: place)
    unsentCount += buffer.count
    lastLost = lastLost.map { max($0 + ($0 >= place ? 1 : 0), place) } ?? place
    if firstDroppable > place { firstDroppable += 1 }
    if firstUnconsolidated > place { firstUnconsolidated = place }
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

extension WriteAheadLog {
  /// The length of all entries in the active segment, including uncommitted ones, in bytes.
  package var usedLength: Int { entries.value.used }
  package var freeLength: Int { header.segmentCapacity - entries.value.used }

  /// Appends an entry. Readers ignore the entry until `commit`.
  ///
  /// - Parameter prefix: if not nil, the first 16 bytes of the body. `head` and `tail` follow.
  /// - Returns: the entry's position, or nil if the entry does not fit in the segment.
  package func append(
    kind: UInt8, owner: UInt64, time: UInt64, prefix: (UInt64, UInt64)? = nil, _ head: RawSpan,
    _ tail: RawSpan
  ) -> EntryPosition? {
    let start = entries.value.used
    let (segment, end) = (entries.value.activeSegment, segmentCapacity)
    guard
      let length = write(kind, owner, time, prefix, head, tail, at: start, before: end, in: segment)
    else { return nil }
    entries.value.used = start + length
    return EntryPosition(offset: start)
  }

  /// Commits all appended entries with one store. If the process dies, the log has all of them or none.
  package func commit() {
    let used = entries.value.used
    if used == entries.value.committed { return }
    publishCommitted(used, ofSegment: entries.value.activeSegment)
    entries.value.committed = used
  }

  package func discard(from position: EntryPosition) {
    precondition(position.offset >= entries.value.committed, "a committed entry cannot be discarded")
    entries.value.used = position.offset
    guard let compaction = entries.value.compaction else { return }
    // A compaction with `commits` also copies uncommitted entries. End it if it can have copied this entry.
    if compaction.read > position.offset { return abandonCompaction() }
    entries.value.compaction?.tailStart = min(compaction.tailStart, position.offset)
  }

  /// Passes the committed entries to `body`, in order, but not the entries that `body` appends. `body` must
  /// commit what it appends. Cuts the log before a damaged entry: the next entry cannot be found, because the
  /// damaged entry's length can be wrong.
  package func forEachEntry(_ body: (LogEntry) -> Void) -> LogDamage? {
    let end = entries.value.committed
    let start = header.start(ofSegment: entries.value.activeSegment)
    var offset = 0
    while offset < end {
      let bytes = self.bytes(in: start..<start + end)
      guard let length = LogEntry.checkedLength(in: bytes, at: offset) else { return cut(at: offset) }
      body(LogEntry(bytes.extracting(offset..<offset + length), at: EntryPosition(offset: offset)))
      offset += length
    }
    return nil
  }

  private func cut(at offset: Int) -> LogDamage {
    precondition(
      entries.value.compaction == nil && entries.value.used == entries.value.committed,
      "the log has uncommitted entries or is being compacted")
    let damage = LogDamage(
      position: EntryPosition(offset: offset), unreadLength: entries.value.committed - offset)
    entries.value.used = offset
    commit()
    return damage
  }

  /// Writes an entry, and returns its length. Returns nil if the entry would reach past `end`.
  func write(
    _ kind: UInt8, _ owner: UInt64, _ time: UInt64, _ prefix: (UInt64, UInt64)?, _ head: RawSpan,
    _ tail: RawSpan,
    at offset: Int, before end: Int, in segment: Int
  ) -> Int? {
    let headStart = LogEntry.headLength + (prefix == nil ? 0 : 16)
    let capacity = min(end - offset, Int(UInt32.max & ~7)) - headStart
    guard head.byteCount <= capacity, tail.byteCount <= capacity - head.byteCount else { return nil }
    let tailStart = headStart &+ head.byteCount
    let opening = LogEntry.Opening(kind, bodyLength: tailStart &+ tail.byteCount &- LogEntry.headLength)
    // A segment consists of whole words. So if the body fits, the padding fits too.
    let length = opening.length
    let start = header.start(ofSegment: segment) + offset
    var entry = mutableBytes(in: start..<start + length)
    // Fill the last word with zeros first. The part that the body does not overwrite becomes the padding.
    entry.store(0, at: length &- 8)
    entry.store(opening.word, at: 0)
    entry.store(owner, at: LogEntry.ownerOffset)
    entry.store(time, at: LogEntry.timeOffset)
    if let prefix {
      entry.store(prefix.0, at: LogEntry.headLength)
      entry.store(prefix.1, at: LogEntry.headLength + 8)
    }
    entry.store(head, at: headStart)
    entry.store(tail, at: tailStart)
    let sum = LogEntry.checksum(of: entry.bytes)
    entry.store(sum, at: LogEntry.checksumOffset)
    return length
  }

  func publishCommitted(_ length: Int, ofSegment segment: Int) {
    mapping.publish(CheckedWord(UInt32(length / 8)).bits, at: LogHeader.committedOffset(ofSegment: segment))
  }
}

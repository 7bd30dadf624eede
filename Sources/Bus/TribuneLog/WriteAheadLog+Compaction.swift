// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

// A compaction copies the live entries, which are still needed, from the active segment to the other one, in
// steps. At the end, the other segment becomes active: only then do readers see the copies. So the log stays
// whole if the caller abandons a compaction, or if the process dies.

extension WriteAheadLog {
  package var isCompacting: Bool { entries.value.compaction != nil }

  /// True if the log is long, has grown enough since the last compaction, and is not being compacted.
  /// Requiring growth bounds the bytes that compactions copy for each appended byte. Usually, the log must
  /// have doubled. If the last compaction left little space free, less growth is enough.
  package var isCompactionDue: Bool {
    let (kept, end) = (entries.value.kept, admissionLimit)
    let threshold = max(min(1 << 20, end / 2), kept + min(kept, max((end - kept) / 2, end / 16)))
    return entries.value.used > threshold && !isCompacting
  }

  /// - Parameter commits: if true, `compact` also copies uncommitted entries, which `endCompaction` commits.
  ///   If false, the caller must have committed all entries when it calls `endCompaction`.
  package func beginCompaction(committing commits: Bool = false) {
    precondition(!isCompacting, "a compaction is under way")
    releaseOtherSegment()
    entries.value.compaction = Compaction(tailStart: entries.value.used, commits: commits)
    entries.value.isOtherSegmentStale = true
  }

  /// Reads the next entries, and copies the live ones. Returns true when all entries are read, or when a live
  /// entry does not fit. Returns false if the caller must call again.
  ///
  /// - Parameters:
  ///   - lengthMax: the number of bytes to read. The last entry can reach past these bytes.
  ///   - isLive: returns true for an entry to copy. `isTail` is true if the entry was appended after the
  ///     compaction began.
  ///   - relocated: gets each copied entry, and the entry's position after a successful `endCompaction`.
  package func compact(
    lengthMax: Int, isLive: (LogEntry, _ isTail: Bool) -> Bool, relocated: (LogEntry, EntryPosition) -> Void
  ) -> Bool {
    guard let first = entries.value.compaction?.read else {
      preconditionFailure("no compaction is under way")
    }
    // `isLive` and `relocated` are allowed to append to the log, so each round reads the state again.
    while let compaction = entries.value.compaction, !compaction.isFull, compaction.read < compactionEnd {
      if compaction.read - first >= lengthMax { return false }
      let offset = compaction.read
      let start = header.start(ofSegment: entries.value.activeSegment)
      let bytes = self.bytes(in: start..<start + compactionEnd)
      guard let length = LogEntry.checkedLength(in: bytes, at: offset) else {
        // This process has written or checked the entry before, so memory is damaged. The next process that
        // adopts the log will find the damage, and report the lost bytes.
        preconditionFailure("an entry of the log has changed since it was written")
      }
      entries.value.compaction?.read = offset + length
      let entry = LogEntry(bytes.extracting(offset..<offset + length), at: EntryPosition(offset: offset))
      guard isLive(entry, offset >= compaction.tailStart) else { continue }
      if let position = keep(entry) {
        relocated(entry, position)
      } else {
        entries.value.compaction?.isFull = true
      }
    }
    return true
  }

  private var compactionEnd: Int {
    entries.value.compaction?.commits == true ? entries.value.used : entries.value.committed
  }

  private func keep(_ entry: LogEntry) -> EntryPosition? {
    guard let start = entries.value.compaction?.written, entry.length <= segmentCapacity - start
    else { return nil }
    mapping.store(entry.bytes, at: header.start(ofSegment: otherSegment) + start)
    entries.value.compaction?.written = start + entry.length
    return EntryPosition(offset: start)
  }

  /// Appends a new entry to the other segment. Returns the entry's position there, or nil without space.
  package func appendToCompaction(kind: UInt8, owner: UInt64, time: UInt64, _ body: RawSpan) -> EntryPosition?
  {
    guard let compaction = entries.value.compaction else { preconditionFailure("no compaction is under way") }
    let start = compaction.written
    guard !compaction.isFull,
      let length = write(
        kind, owner, time, nil, body, RawSpan(), at: start, before: segmentCapacity, in: otherSegment)
    else { return nil }
    entries.value.compaction?.written = start + length
    return EntryPosition(offset: start)
  }

  /// Makes the other segment active, and returns true. Requires that `compact` has read all entries. If a
  /// live entry did not fit, instead abandons the compaction, leaves the log unchanged, and returns false.
  package func endCompaction() -> Bool {
    guard let compaction = entries.value.compaction else { preconditionFailure("no compaction is under way") }
    if compaction.isFull {
      abandonCompaction()
      return false
    }
    precondition(
      (compaction.commits || entries.value.used == entries.value.committed)
        && compaction.read == entries.value.used,
      "the compaction has not caught up with the log")
    let segment = otherSegment
    let written = compaction.written
    publishCommitted(written, ofSegment: segment)
    mapping.publish(CheckedWord(UInt32(segment)).bits, at: LogHeader.activeOffset)
    entries.value = Entries(
      activeSegment: segment, admissionLimit: admissionLimit, used: written, committed: written,
      kept: written,
      isOtherSegmentStale: true)
    releaseOtherSegment()
    return true
  }

  package func abandonCompaction() {
    entries.value.compaction = nil
    releaseOtherSegment()
  }

  private var otherSegment: Int { 1 - entries.value.activeSegment }

  /// Returns the other segment's memory to the kernel. If that fails, the next compaction tries again.
  private func releaseOtherSegment() {
    guard entries.value.isOtherSegmentStale, file.discard(header.pages(ofSegment: otherSegment))
    else { return }
    entries.value.isOtherSegmentStale = false
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

// A compaction copies live entries of the active segment to the other one, in steps. Its output is invisible
// until the segments change roles, so it can be abandoned, or the process killed, at any time.

extension WriteAheadLog {
  package var isCompacting: Bool { entries.value.compaction != nil }

  /// True if the log is long enough, and since the last compaction has doubled, or has used half of the space that was
  /// left (at least a sixteenth of the limit).
  package var isCompactionDue: Bool {
    let (kept, end) = (entries.value.kept, admissionLimit)
    let threshold = max(min(1 << 20, end / 2), kept + min(kept, max((end - kept) / 2, end / 16)))
    return entries.value.used > threshold && !isCompacting
  }

  /// - Parameter commits: if true, `endCompaction` commits uncommitted entries.
  package func beginCompaction(committing commits: Bool = false) {
    precondition(!isCompacting, "a compaction is under way")
    releaseOtherSegment()
    entries.value.compaction = Compaction(tailStart: entries.value.used, commits: commits)
    entries.value.isOtherSegmentStale = true
  }

  /// Returns true when all entries were read.
  ///
  /// - Parameters:
  ///   - lengthMax: bytes to read; the last entry may reach past them.
  ///   - isLive: `isTail` means that the entry was appended after the compaction began.
  ///   - relocated: gets the position after a successful `endCompaction`.
  package func compact(
    lengthMax: Int, isLive: (LogEntry, _ isTail: Bool) -> Bool, relocated: (LogEntry, EntryPosition) -> Void
  ) -> Bool {
    guard let first = entries.value.compaction?.read else {
      preconditionFailure("no compaction is under way")
    }
    // Both closures may append.
    while let compaction = entries.value.compaction, !compaction.isFull, compaction.read < compactionEnd {
      if compaction.read - first >= lengthMax { return false }
      let offset = compaction.read
      let start = header.start(ofSegment: entries.value.activeSegment)
      let bytes = self.bytes(in: start..<start + compactionEnd)
      guard let length = LogEntry.checkedLength(in: bytes, at: offset) else {
        // This process has written or checked the entry, so memory is damaged. The next process finds the damage, and
        // reports the lost bytes.
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

  /// Returns the entry's future position; nil if it does not fit.
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

  /// Makes the other segment active, after all entries were read. If the live entries did not fit, returns
  /// false, abandons the compaction and leaves the log unchanged.
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

  /// Returns the segment's memory to the kernel. If that fails, the next compaction overwrites it.
  private func releaseOtherSegment() {
    guard entries.value.isOtherSegmentStale, file.discard(header.pages(ofSegment: otherSegment))
    else { return }
    entries.value.isOtherSegmentStale = false
  }
}

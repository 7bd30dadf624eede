// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneSystem
package import TribuneWire

// A sweep goes through the log from its start, in steps, until it has caught up with its end; what is appended
// meanwhile it comes to last. Until the areas change roles nobody sees what it has written: it may be abandoned, and
// so may the process.

extension StateFile {
  package var isSweeping: Bool { log.value.sweep != nil }

  /// Whether a sweep is due: a good part of the log must be dead, or it has grown by enough that a sweep is paid for.
  ///
  /// It has to be twice what the last sweep kept, and 1 MiB; where it may not get there, half of the room that was
  /// left has to be used, and a sixteenth of all: where less was left, a sweep is not known to be worth it.
  package var isCrowded: Bool {
    let (kept, end) = (log.value.kept, lengthMax)
    let threshold = max(min(1 << 20, end / 2), kept + min(kept, max((end - kept) / 2, end / 16)))
    return log.value.used > threshold && !isSweeping
  }

  /// - Parameter commits: whether what was appended becomes visible when the sweep ends, together with what that writes,
  ///   and not before.
  package func beginSweep(committing commits: Bool = false) {
    precondition(!isSweeping, "a sweep is under way")
    giveOtherAreaBack()
    log.value.sweep = Sweep(tailStart: log.value.used, commits: commits)
    log.value.isOtherAreaStale = true
  }

  /// Goes on through the committed records, and keeps the live ones.
  ///
  /// - Parameters:
  ///   - lengthMax: bytes of the log to go through; the last record may reach past them.
  ///   - isLive: whether a record is needed. `isTail`: it was appended since the sweep's beginning.
  ///   - moved: told of each that is kept, and its new position, which holds once `endSweep` has returned true.
  /// - Returns: whether there is nothing left to go through.
  package func sweepStep(
    lengthMax: Int, isLive: (StateRecord, _ isTail: Bool) -> Bool, moved: (StateRecord, StatePosition) -> Void
  ) -> Bool {
    guard let first = log.value.sweep?.read else { preconditionFailure("no sweep is under way") }
    // Looked at anew each time: what is called here may append.
    while let sweep = log.value.sweep, !sweep.isFull, sweep.read < sweepEnd {
      if sweep.read - first >= lengthMax { return false }
      let offset = sweep.read
      let start = header.start(ofArea: log.value.area)
      let bytes = self.bytes(in: start..<start + sweepEnd)
      guard let length = StateRecord.checkedLength(in: bytes, at: offset) else {
        // This process wrote or checked it. The next one finds the damage, and says what it drops.
        preconditionFailure("a record of the state is not what was written")
      }
      log.value.sweep?.read = offset + length
      // What only newer versions know cannot be kept up to date, and goes.
      let record = StateRecord(bytes.extracting(offset..<offset + length), at: StatePosition(offset: offset))
      guard let record, isLive(record, offset >= sweep.tailStart) else { continue }
      if let position = keep(record) {
        moved(record, position)
      } else {
        log.value.sweep?.isFull = true
      }
    }
    return true
  }

  /// Where a sweep has caught up with the log.
  private var sweepEnd: Int { log.value.sweep?.commits == true ? log.value.used : log.value.committed }

  /// Copies a record to the other area, if there is room.
  private func keep(_ record: StateRecord) -> StatePosition? {
    guard let start = log.value.sweep?.written, record.length <= areaLength - start else { return nil }
    mapping.store(record.bytes, at: header.start(ofArea: otherArea) + start)
    log.value.sweep?.written = start + record.length
    return StatePosition(offset: start)
  }

  /// Gives a record that the sweep has kept another body of the same length.
  package func rewrite(_ record: StateRecord, keptAt position: StatePosition, _ body: RawSpan) {
    precondition(isSweeping && body.byteCount == record.body.byteCount, "a record is rewritten in its place")
    _ = write(
      record.kind, record.connection, record.moment, nil, body, RawSpan(), at: position.offset,
      before: areaLength, inArea: otherArea)
  }

  /// Writes a record behind those that the sweep has kept so far.
  ///
  /// - Returns: where it will lie; nil when there is no room for it, and nothing was written.
  package func appendToSweep(
    _ kind: StateRecordKind, connection: ConnectionID, at moment: Instant, _ head: RawSpan, _ body: RawSpan
  ) -> StatePosition? {
    guard let sweep = log.value.sweep else { preconditionFailure("no sweep is under way") }
    let start = sweep.written
    guard !sweep.isFull,
      let length = write(
        kind, connection, moment, nil, head, body, at: start, before: areaLength, inArea: otherArea)
    else { return nil }
    log.value.sweep?.written = start + length
    return StatePosition(offset: start)
  }

  package func appendToSweep(
    _ kind: StateRecordKind, connection: ConnectionID, at moment: Instant, _ body: RawSpan
  ) -> StatePosition? {
    appendToSweep(kind, connection: connection, at: moment, body, RawSpan())
  }

  /// Makes what the sweep has written the log, once it has caught up.
  ///
  /// - Returns: false if what is live did not fit, because of what was appended to the sweep. It is abandoned then,
  ///   and the log is as it was.
  package func endSweep() -> Bool {
    guard let sweep = log.value.sweep else { preconditionFailure("no sweep is under way") }
    if sweep.isFull {
      abandonSweep()
      return false
    }
    precondition(
      (sweep.commits || log.value.used == log.value.committed) && sweep.read == log.value.used,
      "the sweep has not caught up with the log")
    let area = otherArea
    publishCommitted(sweep.written, ofArea: area)
    mapping.publish(StateWord(UInt32(area)).bits, at: StateHeader.activeOffset)
    log.value = Log(
      area: area, lengthMax: lengthMax, used: sweep.written, committed: sweep.written, kept: sweep.written,
      isOtherAreaStale: true)
    giveOtherAreaBack()
    return true
  }

  package func abandonSweep() {
    log.value.sweep = nil
    giveOtherAreaBack()
  }

  private var otherArea: Int { 1 - log.value.area }

  /// Where that is forbidden, the next sweep writes over what is there.
  private func giveOtherAreaBack() {
    guard log.value.isOtherAreaStale, file.discard(header.pages(ofArea: otherArea)) else { return }
    log.value.isOtherAreaStale = false
  }
}

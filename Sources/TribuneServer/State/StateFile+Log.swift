// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneSystem
package import TribuneWire

extension StateFile {
  /// Bytes of records in the log, those included that are not committed yet.
  package var usedLength: Int { log.value.used }

  /// Appends a record, which counts when it is committed.
  ///
  /// - Parameter words: what its body begins with, before `head`.
  /// - Returns: where it lies; nil when the area ends before it, and nothing was written.
  package func append(
    _ kind: StateRecordKind, connection: ConnectionID, at moment: Instant, _ words: (UInt64, UInt64)?,
    _ head: RawSpan, _ body: RawSpan
  ) -> StatePosition? {
    let start = log.value.used
    let (area, end) = (log.value.area, areaLength)
    guard
      let length = write(kind, connection, moment, words, head, body, at: start, before: end, inArea: area)
    else { return nil }
    log.value.used = start + length
    return StatePosition(offset: start)
  }

  package func append(
    _ kind: StateRecordKind, connection: ConnectionID, at moment: Instant, _ head: RawSpan, _ body: RawSpan
  ) -> StatePosition? {
    append(kind, connection: connection, at: moment, nil, head, body)
  }

  package func append(
    _ kind: StateRecordKind, connection: ConnectionID, at moment: Instant, _ body: RawSpan
  ) -> StatePosition? {
    append(kind, connection: connection, at: moment, nil, RawSpan(), body)
  }

  /// Makes all that was appended count, or nothing of it should the process be killed before.
  package func commit() {
    let used = log.value.used
    if used == log.value.committed { return }
    publishCommitted(used, ofArea: log.value.area)
    log.value.committed = used
  }

  /// Takes back the record at `position`, which is not committed, and what was appended after it.
  package func discard(from position: StatePosition) {
    precondition(position.offset >= log.value.committed, "what is committed is not taken back")
    log.value.used = position.offset
    if let start = log.value.sweep?.tailStart { log.value.sweep?.tailStart = min(start, position.offset) }
  }

  /// Goes through the committed records, in their order. Those of kinds that only newer versions know are left out.
  ///
  /// - Returns: where something is not what was written. The log ends there from then on, for nobody would find what is
  ///   appended behind that.
  package func forEachRecord(_ body: (StateRecord) -> Void) -> StateDamage? {
    let end = log.value.committed
    let start = header.start(ofArea: log.value.area)
    var offset = 0
    while offset < end {
      // Seen anew each time, for `body` may append to the log.
      let bytes = self.bytes(in: start..<start + end)
      guard let length = StateRecord.checkedLength(in: bytes, at: offset) else {
        return cut(at: offset)
      }
      let record = StateRecord(bytes.extracting(offset..<offset + length), at: StatePosition(offset: offset))
      if let record { body(record) }
      offset += length
    }
    return nil
  }

  private func cut(at offset: Int) -> StateDamage {
    precondition(
      log.value.sweep == nil && log.value.used == log.value.committed, "the log is being written to")
    let damage = StateDamage(
      position: StatePosition(offset: offset), unreadLength: log.value.committed - offset)
    log.value.used = offset
    commit()
    return damage
  }

  /// Writes a record that is not committed.
  ///
  /// - Parameter end: where its area ends, or may be written to no further.
  /// - Returns: its length; nil when there is no room for it.
  func write(
    _ kind: StateRecordKind, _ connection: ConnectionID, _ moment: Instant, _ words: (UInt64, UInt64)?,
    _ head: RawSpan, _ body: RawSpan, at offset: Int, before end: Int, inArea area: Int
  ) -> Int? {
    let headStart = StateRecord.headLength + (words == nil ? 0 : 16)
    let room = min(end - offset, Int(UInt32.max & ~7)) - headStart
    guard head.byteCount <= room, body.byteCount <= room - head.byteCount else { return nil }
    let bodyStart = headStart &+ head.byteCount
    let opening = StateRecord.Opening(kind, bodyLength: bodyStart &+ body.byteCount &- StateRecord.headLength)
    // Room ends with a whole word, so that what fills the body up has room as well.
    let length = opening.length
    let start = header.start(ofArea: area) + offset
    var record = mutableBytes(in: start..<start + length)
    // Before the body, most of whose last word may be that of the body.
    record.store(0, at: length &- 8)
    record.store(opening.word, at: 0)
    record.store(connection.rawValue, at: StateRecord.connectionOffset)
    record.store(moment.nanoseconds, at: StateRecord.momentOffset)
    if let words {
      record.store(words.0, at: StateRecord.headLength)
      record.store(words.1, at: StateRecord.headLength + 8)
    }
    record.store(head, at: headStart)
    record.store(body, at: bodyStart)
    let sum = StateRecord.checksum(of: record.bytes)
    record.store(sum, at: StateRecord.checksumOffset)
    return length
  }

  func publishCommitted(_ length: Int, ofArea area: Int) {
    mapping.publish(StateWord(UInt32(length / 8)).bits, at: StateHeader.committedOffset(ofArea: area))
  }
}

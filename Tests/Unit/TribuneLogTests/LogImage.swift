// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

struct EntryCopy: Equatable, Sendable {
  var kind: UInt8
  var owner: UInt64 = 7
  var time: UInt64 = 1_000
  var body: [UInt8] = []
  var position = 0
  var length = 32

  init(_ kind: UInt8, owner: UInt64 = 7, time: UInt64 = 1_000, body: [UInt8] = []) {
    self.kind = kind
    self.owner = owner
    self.time = time
    self.body = body
    length = 32 + (body.count + 7) / 8 * 8
  }

  init(_ entry: LogEntry) {
    self.init(entry.rawKind, owner: entry.owner, time: entry.time, body: Array(entry.body))
    position = entry.position.offset
    length = entry.length
  }
}

/// Damaged counters are nil.
struct SlotCopy: Equatable {
  var owner: UInt64
  var counters: [UInt32?] = [UInt32?](repeating: 0, count: CounterSlot.counterCount)
}

extension SlotCopy {
  init(_ slot: CounterSlot) {
    self.init(owner: slot.owner, counters: (0..<CounterSlot.counterCount).map { slot[$0] })
  }
}

extension WriteAheadLog {
  convenience init() throws { try self.init(slotCount: 8, segmentCapacity: 65_536) }

  func append(_ entry: EntryCopy) -> EntryPosition? {
    append(
      kind: entry.kind, owner: entry.owner, time: entry.time, Array(entry.body.prefix(5)).raw,
      Array(entry.body.dropFirst(5)).raw)
  }

  func appendToCompaction(_ entry: EntryCopy) -> EntryPosition? {
    appendToCompaction(kind: entry.kind, owner: entry.owner, time: entry.time, entry.body.raw)
  }

  func compact(
    lengthMax: Int = .max, keeping isLive: (LogEntry, _ isTail: Bool) -> Bool = { _, _ in true }
  ) -> Bool {
    compact(lengthMax: lengthMax, isLive: isLive, relocated: { _, _ in })
  }

  func slotCopy(_ number: Int) -> SlotCopy? { slot(number).map(SlotCopy.init) }

  func discardUncommitted() { discard(from: EntryPosition(offset: entries.value.committed)) }

  var keptLength: Int { entries.value.kept }

  var storedLength: Int {
    get throws {
      var status = stat()
      _ = try retrying { unsafe fstat(rawDescriptor, &status) }
      return Int(status.st_blocks) * 512
    }
  }

  func contents() -> (entries: [EntryCopy], damage: LogDamage?) {
    var entries: [EntryCopy] = []
    let damage = forEachEntry { entries.append(EntryCopy($0)) }
    return (entries, damage)
  }

  func wholeEntries() throws -> [EntryCopy] {
    let (entries, damage) = contents()
    try #require(damage == nil)
    return entries
  }
}

/// A log's bytes as a killed process leaves them.
struct LogImage {
  static let seals = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW

  var bytes: [UInt8]

  init(of log: WriteAheadLog) { self.init(of: log.rawDescriptor) }

  init(of file: CInt) {
    var status = stat()
    let result = unsafe fstat(file, &status)
    precondition(result == 0)
    bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = unsafe pread(file, &bytes, bytes.count, 0)
    precondition(count == bytes.count)
  }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func file(length: Int? = nil, seals: CInt = seals) throws -> FileDescriptor {
    let flags = CUnsignedInt(MFD_CLOEXEC) | CUnsignedInt(MFD_ALLOW_SEALING)
    let file = FileDescriptor(owning: try retrying { unsafe memfd_create("test", flags) })
    let descriptor = file.rawValue
    let count = length ?? bytes.count
    _ = try retrying { ftruncate(descriptor, off_t(count)) }
    let written = min(count, bytes.count)
    if written > 0 {
      let result = try retrying { unsafe pwrite(descriptor, bytes, written, 0) }
      precondition(result == written)
    }
    if seals != 0 { _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, seals) } }
    return file
  }

  func adopted() throws -> WriteAheadLog { try WriteAheadLog(adopting: file()) }
}

func logError(of file: consuming FileDescriptor) -> LogError? {
  do throws(LogError) {
    _ = try WriteAheadLog(adopting: file)
    return nil
  } catch {
    return error
  }
}

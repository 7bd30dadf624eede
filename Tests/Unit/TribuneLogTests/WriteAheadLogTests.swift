// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

@Suite("The log that outlives the bus", .timeLimit(.minutes(15)))
struct WriteAheadLogTests {
  @Test("holds committed entries unchanged and in order")
  func committed() throws {
    let log = try WriteAheadLog()
    var expected: [EntryCopy] = []
    var end = 0
    for (number, kind) in (UInt8(1)...17).enumerated() {
      for length in [0, 1, 4, 5, 7, 8, 9, 16, 300 + number] {
        var entry = EntryCopy(
          kind, owner: .max - UInt64(number), time: UInt64(length) << 40,
          body: (0..<length).map { UInt8(truncatingIfNeeded: $0 &+ number &+ 1) })
        entry.position = end
        #expect(log.append(entry)?.offset == end)
        end += entry.length
        expected.append(entry)
      }
    }
    #expect(log.usedLength == end)
    log.commit()
    for reader in [log, try LogImage(of: log).adopted()] {
      #expect(try reader.wholeEntries() == expected)
      #expect(reader.usedLength == end)
    }
  }

  @Test("takes a body in one part or in two")
  func parts() throws {
    let log = try WriteAheadLog()
    let body: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    for split in 0...body.count {
      _ = log.append(kind: 3, owner: 1, time: 0, Array(body[..<split]).raw, Array(body[split...]).raw)
    }
    _ = log.append(kind: 3, owner: 1, time: 0, RawSpan(), body.raw)
    log.commit()
    #expect(log.contents().entries.map(\.body) == [[UInt8]](repeating: body, count: body.count + 2))
  }

  @Test("ignores the bytes after its committed entries")
  func leftovers() throws {
    let log = try WriteAheadLog()
    let entry = EntryCopy(2, body: [1, 2])
    #expect(log.append(entry) != nil)
    log.commit()
    var image = LogImage(of: log)
    let end = log.header.start(ofSegment: 0) + log.usedLength
    for offset in end..<image.bytes.count { image.bytes[offset] = UInt8(truncatingIfNeeded: offset &* 37) }
    let adopted = try image.adopted()
    #expect(adopted.contents().entries == [entry])
    #expect(adopted.append(EntryCopy(3, body: [9, 9, 9])) != nil)
    adopted.commit()
    #expect(try adopted.wholeEntries().map(\.body) == [[1, 2], [9, 9, 9]])
    #expect(LogImage(of: adopted).bytes[end + 32..<end + 40] == [9, 9, 9, 0, 0, 0, 0, 0])
  }

  @Test(
    "refuses an entry that does not fit, and takes the next one that does", arguments: [32, 40, 96, 1024])
  func full(segmentCapacity: Int) throws {
    let log = try WriteAheadLog(slotCount: 8, segmentCapacity: segmentCapacity)
    #expect(log.segmentCapacity == segmentCapacity)
    let room = segmentCapacity - 32
    #expect(log.append(EntryCopy(3, body: [UInt8](repeating: 1, count: room + 1))) == nil)
    #expect(log.usedLength == 0)
    let whole = EntryCopy(3, body: [UInt8](repeating: 2, count: room))
    #expect(log.append(whole)?.offset == 0)
    log.commit()
    #expect(log.append(EntryCopy(5)) == nil)
    #expect(try LogImage(of: log).adopted().wholeEntries() == [whole])
  }

  @Test("ends where it is damaged, and can be appended to from there")
  func damage() throws {
    let log = try WriteAheadLog()
    for number in 1...5 { #expect(log.append(EntryCopy(3, body: [UInt8(number)])) != nil) }
    log.commit()
    let start = log.header.start(ofSegment: 0)
    log.mapping.store(0, at: start + 2 * 40 + 32)
    let found = log.contents()
    #expect(found.entries.map(\.body) == [[1], [2]])
    #expect(found.damage == LogDamage(position: EntryPosition(offset: 80), unreadLength: 120))
    #expect(log.usedLength == 80)
    #expect(try LogImage(of: log).adopted().contents().damage == nil)
    #expect(log.append(EntryCopy(3, body: [6]))?.offset == 80)
    log.commit()
    #expect(try LogImage(of: log).adopted().wholeEntries().map(\.body) == [[1], [2], [6]])
  }

  @Test("cannot be truncated, is close-on-exec, and needs memory only for what it holds")
  func sparse() throws {
    let log = try WriteAheadLog(slotCount: 1 << 20, segmentCapacity: 1 << 32)
    #expect(fcntl(log.rawDescriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(ftruncate(log.rawDescriptor, 0) == -1 && errno == EPERM)
    #expect(fcntl(log.rawDescriptor, TRIBUNE_F_ADD_SEALS, 0) == -1 && errno == EPERM)
    log.assignSlot((1 << 20) - 1, to: 1)
    #expect(log.append(EntryCopy(3, body: [1])) != nil)
    log.commit()
    var status = stat()
    _ = try retrying { unsafe fstat(log.rawDescriptor, &status) }
    // The header, a page of slots and one of entries, at any page size.
    #expect(status.st_blocks * 512 <= 3 * sysconf(CInt(_SC_PAGESIZE)))
    #expect(status.st_size > 2 << 32)
  }

  @Test("is due for a compaction after many entries since the last one, and not during one")
  func crowded() throws {
    let log = try WriteAheadLog(slotCount: 8, segmentCapacity: 16 << 20)
    let entry = EntryCopy(3, body: [UInt8](repeating: 1, count: 65_504))
    /// Appends 64 KiB at a time until a compaction is due. Returns KiB.
    func fill() throws -> Int {
      while !log.isCompactionDue {
        _ = try #require(log.append(entry))
        log.commit()
      }
      return log.usedLength >> 10
    }
    func compact(keeping length: Int) throws {
      log.beginCompaction()
      #expect(!log.isCompactionDue)
      _ = log.compact { entry, _ in entry.position.offset < length }
      try #require(log.endCompaction())
      #expect(log.keptLength == length)
    }
    #expect(try fill() == 1024 + 64)
    try compact(keeping: 65_536)
    #expect(try fill() == 1024 + 64)
    try compact(keeping: 1 << 20)
    #expect(try fill() == 2048 + 64)
    try compact(keeping: 2 << 20)
    #expect(try fill() == 4096 + 64)
    // Twice as much would be the admission limit.
    try compact(keeping: 4 << 20)
    #expect(try fill() == 6144 + 64)
    // Half of the rest would be too little.
    while log.append(entry) != nil { log.commit() }
    try compact(keeping: (7 << 20) + 65_536)
    #expect(try fill() == 7680 + 64 + 64)
    while log.append(entry) != nil { log.commit() }
    try compact(keeping: (8 << 20) - 65_536)
    #expect(log.append(entry) != nil)
    #expect(!log.isCompactionDue)
  }
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

@Suite("A log that another daemon left", .timeLimit(.minutes(15)))
struct AdoptionTests {
  private static func filled() throws -> WriteAheadLog {
    let log = try WriteAheadLog(slotCount: 5, segmentCapacity: 65_536)
    for (number, kind) in (UInt8(1)...17).enumerated() {
      for length in [0, 5 + number, 24] {
        let body = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
        _ = try #require(
          log.append(EntryCopy(kind, owner: UInt64(number) + 2, time: UInt64(length) << 33, body: body)))
      }
    }
    log.commit()
    for slot in 0..<4 {
      log.assignSlot(slot, to: 1 << (20 * UInt64(slot)))
      for counter in 0..<CounterSlot.counterCount {
        log.setCounter(counter, of: slot, to: UInt32(slot * counter))
      }
    }
    return log
  }

  private static func patched(_ image: LogImage, _ change: (inout [UInt8]) -> Void) -> LogImage {
    var bytes = image.bytes
    change(&bytes)
    let length = Int(bytes[12])
    let sum = Checksum.of(
      bytes.raw.integer(at: 8, as: UInt64.self), bytes.raw.extracting(24..<max(24, length)))
    for place in 0..<8 { bytes[16 + place] = UInt8(truncatingIfNeeded: sum >> (8 * place)) }
    return LogImage(bytes)
  }

  @Test("is read unchanged, or found damaged, whichever of its bytes changes")
  func flips() throws {
    let log = try Self.filled()
    let entries = log.contents().entries
    let slots = (0..<5).map { log.slotCopy($0) }
    let image = LogImage(of: log)
    let logStart = log.header.start(ofSegment: 0)
    let logEnd = logStart + log.usedLength
    let slotsEnd = LogHeader.slotsOffset + 5 * 64
    // Every byte with a meaning, and a sample of the others.
    let offsets =
      Array(0..<128) + Array(stride(from: 128, to: LogHeader.slotsOffset, by: 61))
      + Array(LogHeader.slotsOffset..<slotsEnd) + Array(stride(from: slotsEnd, to: logStart, by: 997))
      + Array(logStart..<logEnd) + Array(stride(from: logEnd, to: image.bytes.count, by: 997))
    let file = try image.file()
    for offset in offsets {
      for mask: UInt8 in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
        try Self.write([image.bytes[offset] ^ mask], to: file, at: offset)
        switch offset {
        case 0..<8: #expect(Self.flaw(file) == .foreign)
        case 8..<40, 64..<80: #expect(Self.flaw(file) == .damaged)
        default:
          let adopted = try WriteAheadLog(adopting: FileDescriptor(owning: dup(file.rawValue)))
          let found = adopted.contents()
          let isInLog = logStart..<logEnd ~= offset
          let whole = isInLog ? entries.count { $0.position + $0.length <= offset - logStart } : entries.count
          try #require(found.entries == Array(entries[..<whole]), "byte \(offset), \(mask)")
          try #require(found.damage?.position.offset == (isInLog ? entries[whole].position : nil))
          for slot in 0..<5 {
            let (row, word) = (offset - LogHeader.slotsOffset).quotientAndRemainder(dividingBy: 64)
            // In an empty slot, only the owner has a meaning.
            var expected = slots[slot]
            if offset >= LogHeader.slotsOffset, row == slot {
              if word < 48 { expected?.counters[word / 8] = nil } else { expected = nil }
            }
            try #require(adopted.slotCopy(slot) == expected, "byte \(offset), \(mask)")
          }
        }
        try Self.write([image.bytes[offset]], to: file, at: offset)
        try Self.write(Array(image.bytes[64..<88]), to: file, at: 64)
      }
    }
    let adopted = try WriteAheadLog(adopting: file)
    #expect(adopted.contents().entries == entries)
  }

  @Test("is refused if its end is missing")
  func truncated() throws {
    let image = try LogImage(of: Self.filled())
    let lengths =
      Array(1..<4_500) + Array(stride(from: 4_500, to: image.bytes.count, by: 509)) + [image.bytes.count - 1]
    for length in lengths {
      let flaw = logError(of: try image.file(length: length))
      #expect(flaw == (length < 8 ? .foreign : .truncated), "\(length) bytes")
    }
    #expect(logError(of: try image.file(length: image.bytes.count + 1)) == .damaged)
    #expect(logError(of: try image.file()) == nil)
  }

  @Test(
    "is refused if it could still be truncated",
    arguments: [
      0, TRIBUNE_F_SEAL_SHRINK, TRIBUNE_F_SEAL_GROW | TRIBUNE_F_SEAL_SEAL,
      TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW, TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_SEAL,
    ])
  func unsealed(seals: CInt) throws {
    let image = try LogImage(of: Self.filled())
    #expect(logError(of: try image.file(seals: seals)) == .notSealed)
    #expect(logError(of: try image.file(length: 8_192, seals: seals)) == .notSealed)
  }

  @Test("is refused if it is read-only")
  func readOnly() throws {
    let file = try LogImage(of: Self.filled()).file()
    let path = "/proc/self/fd/\(file.rawValue)"
    let other = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    #expect(logError(of: other) == .foreign)
  }

  @Test("is refused if a newer version wrote it", arguments: [2, 255])
  func newer(version: UInt8) throws {
    let image = try LogImage(of: Self.filled())
    let newer = Self.patched(image) { $0[8] = version }
    #expect(logError(of: try newer.file()) == .newer(version: UInt32(version)))
    for length: UInt8 in [24, 32, 48, 64] {
      let other = Self.patched(image) {
        $0[8] = version
        $0[12] = length
        for place in 24..<64 { $0[place] = 0xA5 }
      }
      #expect(logError(of: try other.file()) == .newer(version: UInt32(version)))
    }
    let unchanged = Self.patched(image) { _ in }
    #expect(logError(of: try unchanged.file()) == nil)
  }

  @Test("is refused after three failed recoveries in a row")
  func deadly() throws {
    var log = try Self.filled()
    let entries = log.contents().entries
    for round in 0..<2 {
      for _ in 0..<3 {
        log = try LogImage(of: log).adopted()
        log.beginRecovery()
      }
      #expect(logError(of: try LogImage(of: log).file()) == .tooManyRecoveries(3))
      if round == 0 { log.endRecovery() }
    }
    log.mapping.store(CheckedWord(3).bits ^ 1, at: 88)
    #expect(try LogImage(of: log).adopted().contents().entries == entries)
  }

  @Test(
    "is refused if its header has impossible values",
    arguments: [
      // Version 0; too many slots; segments of 0 bytes, of a partial word, and too long.
      (8, 0), (24, 1 << 24 + 1), (24, .max), (32, 0), (32, 12), (32, 1 << 32 + 8), (32, .max),
    ] as [(Int, UInt64)])
  func absurd(offset: Int, value: UInt64) throws {
    let image = Self.patched(try LogImage(of: Self.filled())) { bytes in
      for place in 0..<(offset == 8 ? 4 : 8) {
        bytes[offset + place] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(place)))
      }
    }
    #expect(logError(of: try image.file()) == .damaged)
  }

  @Test(
    "is refused if the committed length, or the number of the active segment, is impossible",
    arguments: [64, 72])
  func outside(offset: Int) throws {
    let log = try Self.filled()
    // Offset 88 would be segment 2's committed length. Valid here, it leaves only the segment's number to refuse.
    log.mapping.store(CheckedWord(0).bits, at: 88)
    log.mapping.store(CheckedWord(65_536 / 8 + 1).bits, at: offset)
    #expect(logError(of: try LogImage(of: log).file()) == .damaged)
    log.mapping.store(CheckedWord(offset == 64 ? 2 : .max).bits, at: offset)
    #expect(logError(of: try LogImage(of: log).file()) == .damaged)
  }

  /// The checksum is right: a writer's bug, not a flipped bit.
  @Test(
    "is damaged at an entry of impossible length",
    arguments: [0, 8, 16, 24, 31, 36, 44, 65_544, 0xFFFF_FFF8, 0xFFFF_FFFF] as [UInt64])
  func absurdEntry(length: UInt64) throws {
    let log = try WriteAheadLog(slotCount: 1, segmentCapacity: 65_536)
    _ = try #require(log.append(EntryCopy(2, body: [1])))
    _ = try #require(log.append(EntryCopy(3, body: [2])))
    let start = log.header.start(ofSegment: 0) + 40
    log.mapping.store(length | 3 << 32, at: start)
    for end in [8, 16, 24, 32, 40] {
      let sum = LogEntry.checksum(of: log.bytes(in: start..<start + end))
      log.mapping.store(sum, at: start + 8)
      log.commit()
      let found = try LogImage(of: log).adopted().contents()
      #expect(found.entries.map(\.body) == [[1]])
      #expect(found.damage?.position.offset == 40)
    }
  }

  @Test(
    "is damaged at an entry of impossible padding",
    arguments: [(0, 1), (0, 7), (0, 8), (0, 255), (16, 8), (16, 16), (16, 24), (16, 255)] as [(Int, UInt64)])
  func absurdPadding(length: Int, padding: UInt64) throws {
    let log = try WriteAheadLog(slotCount: 1, segmentCapacity: 65_536)
    let entry = EntryCopy(5, body: [UInt8](repeating: 1, count: length))
    _ = try #require(log.append(entry))
    let start = log.header.start(ofSegment: 0)
    log.mapping.store(log.mapping.load(at: start) | padding << 40, at: start)
    let sum = LogEntry.checksum(of: log.bytes(in: start..<start + entry.length))
    log.mapping.store(sum, at: start + 8)
    log.commit()
    #expect(log.contents().damage?.position.offset == 0)
  }

  @Test("is refused if the file is not a log")
  func foreign() throws {
    let image = try LogImage(of: Self.filled())
    for path in ["/dev/zero", "/dev/null", "/proc/self/exe", "/tmp"] {
      let file = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
      #expect(logError(of: file) == .foreign, "\(path)")
    }
    var name = Array("/tmp/tribune-log-XXXXXX".utf8CString)
    let copy = FileDescriptor(owning: try retrying { unsafe mkstemp(&name) })
    _ = try retrying { unsafe unlink(name) }
    try Self.write(image.bytes, to: copy, at: 0)
    #expect([.foreign, .notSealed].contains(logError(of: copy)))
    #expect(logError(of: try LogImage([]).file()) == .foreign)
    #expect(logError(of: try LogImage([UInt8](repeating: 0x54, count: 200_000)).file()) == .foreign)
    let passed = try MemoryFile(holding: image.bytes.raw)
    let flaw = logError(of: FileDescriptor(owning: dup(passed.rawDescriptor)))
    #expect(flaw == .failed(Errno(rawValue: EPERM)))
  }

  @Test("is closed if it is refused")
  func closed() throws {
    var ends: [CInt] = [-1, -1]
    _ = try retrying { unsafe pipe2(&ends, O_CLOEXEC) }
    let writeEnd = FileDescriptor(owning: ends[1])
    #expect(logError(of: FileDescriptor(owning: ends[0])) == .foreign)
    var watched = pollfd(fd: writeEnd.rawValue, events: Int16(POLLOUT), revents: 0)
    #expect(try retrying { unsafe poll(&watched, 1, 0) } == 1)
    #expect(watched.revents & Int16(POLLERR) != 0)
  }

  private static func flaw(_ file: borrowing FileDescriptor) -> LogError? {
    logError(of: FileDescriptor(owning: dup(file.rawValue)))
  }

  private static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor, at offset: Int) throws {
    let descriptor = file.rawValue
    let count = try retrying { unsafe pwrite(descriptor, bytes, bytes.count, off_t(offset)) }
    try #require(count == bytes.count)
  }
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor @Suite("A state that another daemon left", .timeLimit(.minutes(15)))
struct StateAdoptionTests {
  /// Three records of each kind, and five cells, the last of which is free.
  private static func filled() throws -> StateFile {
    let state = try StateFile(cellCount: 5, areaLength: 65_536)
    for (number, kind) in StateRecordKind.allCases.enumerated() {
      for length in [0, 5 + number, 24] {
        let body = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
        _ = try #require(
          state.append(
            RecordCopy(kind, connection: UInt64(number) + 2, moment: UInt64(length) << 33, body: body)))
      }
    }
    state.commit()
    for slot in 0..<4 {
      state.setCell(slot: slot, connection: ConnectionID(rawValue: 1 << (20 * UInt64(slot))))
      for word in StateCellWord.allCases { state.set(word, of: slot, to: UInt32(slot * word.rawValue)) }
    }
    return state
  }

  private static func patched(_ image: StateImage, _ change: (inout [UInt8]) -> Void) -> StateImage {
    var bytes = image.bytes
    change(&bytes)
    let length = Int(bytes[12])
    let sum = StateChecksum.of(
      bytes.raw.integer(at: 8, as: UInt64.self), bytes.raw.extracting(24..<max(24, length)))
    for place in 0..<8 { bytes[16 + place] = UInt8(truncatingIfNeeded: sum >> (8 * place)) }
    return StateImage(bytes)
  }

  @Test("is the same for whoever takes it over, and goes on")
  func adopted() throws {
    let state = try Self.filled()
    let original = state.contents()
    #expect(original.records.count == 3 * StateRecordKind.allCases.count)
    let adopted = try StateImage(of: state).adopted()
    #expect(adopted.contents().records == original.records)
    #expect((0..<5).map { adopted.cell(of: $0) } == (0..<5).map { state.cell(of: $0) })
    #expect(adopted.cell(of: 3)?.held == 12)
    #expect(adopted.append(RecordCopy(.said)) != nil)
    adopted.commit()
    #expect(adopted.contents().records.count == original.records.count + 1)
  }

  @Test("is the very file, not a copy")
  func shared() throws {
    let state = try Self.filled()
    let adopted = try StateFile(adopting: FileDescriptor(owning: dup(state.rawDescriptor)))
    adopted.set(.sent, of: 2, to: 77)
    #expect(state.cell(of: 2)?.sent == 77)
  }

  /// What is found where one byte of a state is another one, is what was written, or known to be damaged.
  @Test("is never taken for another one, whichever of its bytes is changed")
  func flips() throws {
    let state = try Self.filled()
    let records = state.contents().records
    let cells = (0..<5).map { state.cell(of: $0) }
    let image = try StateImage(of: state)
    let logStart = state.header.start(ofArea: 0)
    let logEnd = logStart + state.usedLength
    let cellsEnd = StateHeader.cellsOffset + 5 * 64
    // Every byte that means something, and of the rest some.
    let offsets =
      Array(0..<128) + Array(stride(from: 128, to: StateHeader.cellsOffset, by: 61))
      + Array(StateHeader.cellsOffset..<cellsEnd) + Array(stride(from: cellsEnd, to: logStart, by: 997))
      + Array(logStart..<logEnd) + Array(stride(from: logEnd, to: image.bytes.count, by: 997))
    let file = try image.file()
    for offset in offsets {
      for mask: UInt8 in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF] {
        try Self.write([image.bytes[offset] ^ mask], to: file, at: offset)
        switch offset {
        case 0..<8: #expect(Self.flaw(file) == .foreign)
        // The header, which area is active, and how much of that is committed.
        case 8..<40, 64..<80: #expect(Self.flaw(file) == .damaged)
        default:
          let adopted = try StateFile(adopting: FileDescriptor(owning: dup(file.rawValue)))
          let found = adopted.contents()
          let isInLog = logStart..<logEnd ~= offset
          let whole = isInLog ? records.count { $0.position + $0.length <= offset - logStart } : records.count
          try #require(found.records == Array(records[..<whole]), "byte \(offset), \(mask)")
          try #require(found.damage?.position.offset == (isInLog ? records[whole].position : nil))
          for slot in 0..<5 {
            let (row, word) = (offset - StateHeader.cellsOffset).quotientAndRemainder(dividingBy: 64)
            // One word is a figure that may be missing. No other than the id has a meaning in a cell that nobody has.
            var expected = cells[slot]
            if offset >= StateHeader.cellsOffset, row == slot {
              if 40..<48 ~= word { expected?.lost = nil } else { expected = nil }
            }
            try #require(adopted.cell(of: slot) == expected, "byte \(offset), \(mask)")
          }
        }
        // Damage ends the log, which is undone.
        try Self.write([image.bytes[offset]], to: file, at: offset)
        try Self.write(Array(image.bytes[64..<88]), to: file, at: 64)
      }
    }
    // All that was undone leaves what there was.
    let adopted = try StateFile(adopting: file)
    #expect(adopted.contents().records == records)
  }

  @Test("is not taken when any part of its end is missing")
  func truncated() throws {
    let image = try StateImage(of: Self.filled())
    let lengths =
      Array(1..<4_500) + Array(stride(from: 4_500, to: image.bytes.count, by: 509)) + [image.bytes.count - 1]
    for length in lengths {
      let flaw = stateFlaw(of: try image.file(length: length))
      #expect(flaw == (length < 8 ? .foreign : .truncated), "\(length) bytes")
    }
    #expect(stateFlaw(of: try image.file(length: image.bytes.count + 1)) == .damaged)
    #expect(stateFlaw(of: try image.file()) == nil)
  }

  @Test(
    "is not taken when somebody could still cut it",
    arguments: [
      0, TRIBUNE_F_SEAL_SHRINK, TRIBUNE_F_SEAL_GROW | TRIBUNE_F_SEAL_SEAL,
      TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW, TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_SEAL,
    ])
  func unsealed(seals: CInt) throws {
    let image = try StateImage(of: Self.filled())
    #expect(stateFlaw(of: try image.file(seals: seals)) == .notSealed)
    // Neither is one that was cut already.
    #expect(stateFlaw(of: try image.file(length: 8_192, seals: seals)) == .notSealed)
  }

  @Test("is not taken when it can only be read")
  func readOnly() throws {
    let file = try StateImage(of: Self.filled()).file()
    let path = "/proc/self/fd/\(file.rawValue)"
    let other = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
    #expect(stateFlaw(of: other) == .foreign)
  }

  @Test("is not taken when a newer daemon wrote it", arguments: [2, 255])
  func newer(version: UInt8) throws {
    let image = try StateImage(of: Self.filled())
    let newer = Self.patched(image) { $0[8] = version }
    #expect(stateFlaw(of: try newer.file()) == .newer(version: UInt32(version)))
    // Whatever else there is in its header, and however long it is.
    for length: UInt8 in [24, 32, 48, 64] {
      let other = Self.patched(image) {
        $0[8] = version
        $0[12] = length
        for place in 24..<64 { $0[place] = 0xA5 }
      }
      #expect(stateFlaw(of: try other.file()) == .newer(version: UInt32(version)))
    }
    let unchanged = Self.patched(image) { _ in }
    #expect(stateFlaw(of: try unchanged.file()) == nil)
  }

  @Test("is not taken any more when three daemons in a row have not come to serve")
  func deadly() throws {
    var state = try Self.filled()
    let records = state.contents().records
    for round in 0..<2 {
      for _ in 0..<3 {
        state = try StateImage(of: state).adopted()
        state.beginTakeOver()
      }
      #expect(stateFlaw(of: try StateImage(of: state).file()) == .deadly(takeOvers: 3))
      if round == 0 { state.endTakeOver() }
    }
    // A number that is damaged says nothing.
    state.mapping.store(StateWord(3).bits ^ 1, at: 88)
    #expect(try StateImage(of: state).adopted().contents().records == records)
  }

  @Test(
    "is not taken when its header says what cannot be",
    arguments: [
      // Version 0; too many cells; bytes in an area: none, no whole word, too many.
      (8, 0), (24, 1 << 24 + 1), (24, .max), (32, 0), (32, 12), (32, 1 << 32 + 8), (32, .max),
    ] as [(Int, UInt64)])
  func absurd(offset: Int, value: UInt64) throws {
    let image = Self.patched(try StateImage(of: Self.filled())) { bytes in
      for place in 0..<(offset == 8 ? 4 : 8) {
        bytes[offset + place] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(place)))
      }
    }
    #expect(stateFlaw(of: try image.file()) == .damaged)
  }

  @Test(
    "is not taken when more is committed than there can be, or another area than there is",
    arguments: [64, 72])
  func outside(offset: Int) throws {
    let state = try Self.filled()
    // Where there would be the committed length of a third.
    state.mapping.store(StateWord(0).bits, at: 88)
    state.mapping.store(StateWord(65_536 / 8 + 1).bits, at: offset)
    #expect(stateFlaw(of: try StateImage(of: state).file()) == .damaged)
    state.mapping.store(StateWord(offset == 64 ? 2 : .max).bits, at: offset)
    #expect(stateFlaw(of: try StateImage(of: state).file()) == .damaged)
  }

  /// A writer's bug, not a flipped bit: the checksum is right.
  @Test(
    "says of a record that cannot be that it is damaged",
    arguments: [0, 8, 16, 24, 31, 36, 44, 65_544, 0xFFFF_FFF8, 0xFFFF_FFFF] as [UInt64])
  func absurdRecord(length: UInt64) throws {
    let state = try StateFile(cellCount: 1, areaLength: 65_536)
    _ = try #require(state.append(RecordCopy(.connection, body: [1])))
    _ = try #require(state.append(RecordCopy(.frame, body: [2])))
    let start = state.header.start(ofArea: 0) + 40
    state.mapping.store(length | UInt64(StateRecordKind.frame.rawValue) << 32, at: start)
    for end in [8, 16, 24, 32, 40] {
      let sum = StateRecord.checksum(of: state.bytes(in: start..<start + end))
      state.mapping.store(sum, at: start + 8)
      state.commit()
      let found = try StateImage(of: state).adopted().contents()
      #expect(found.records.map(\.body) == [[1]])
      #expect(found.damage?.position.offset == 40)
    }
  }

  @Test(
    "says of a record that is filled up by more than there can be that it is damaged",
    arguments: [(0, 1), (0, 7), (0, 8), (0, 255), (16, 8), (16, 16), (16, 24), (16, 255)] as [(Int, UInt64)])
  func absurdPadding(length: Int, padding: UInt64) throws {
    let state = try StateFile(cellCount: 1, areaLength: 65_536)
    let record = RecordCopy(.moment, body: [UInt8](repeating: 1, count: length))
    _ = try #require(state.append(record))
    let start = state.header.start(ofArea: 0)
    state.mapping.store(state.mapping.load(at: start) | padding << 40, at: start)
    let sum = StateRecord.checksum(of: state.bytes(in: start..<start + record.length))
    state.mapping.store(sum, at: start + 8)
    state.commit()
    #expect(state.contents().damage?.position.offset == 0)
  }

  @Test("is taken for none where there is none")
  func foreign() throws {
    let folder = try TemporaryFolder()
    let image = try StateImage(of: Self.filled())
    for path in ["/dev/zero", "/dev/null", "/proc/self/exe", "/tmp", folder.path] {
      let file = FileDescriptor(owning: try retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) })
      #expect(stateFlaw(of: file) == .foreign, "\(path)")
    }
    // A regular file, even with the bytes of a state: it has no seals.
    let copy = FileDescriptor(
      owning: try retrying { unsafe open("\(folder.path)/state", O_RDWR | O_CREAT | O_CLOEXEC, 0o600) })
    try Self.write(image.bytes, to: copy, at: 0)
    #expect([.foreign, .notSealed].contains(stateFlaw(of: copy)))
    // Other files in memory: without contents, with some, and one that must not be written to.
    #expect(stateFlaw(of: try StateImage([]).file()) == .foreign)
    #expect(stateFlaw(of: try StateImage([UInt8](repeating: 0x54, count: 200_000)).file()) == .foreign)
    let passed = try MemoryFile(holding: image.bytes.raw)
    let flaw = stateFlaw(of: FileDescriptor(owning: dup(passed.rawDescriptor)))
    #expect(flaw == .failed(Errno(rawValue: EPERM)))
  }

  @Test("is closed when it is not taken")
  func closed() throws {
    var ends: [CInt] = [-1, -1]
    _ = try retrying { unsafe pipe2(&ends, O_CLOEXEC) }
    let writeEnd = FileDescriptor(owning: ends[1])
    #expect(stateFlaw(of: FileDescriptor(owning: ends[0])) == .foreign)
    var watched = pollfd(fd: writeEnd.rawValue, events: Int16(POLLOUT), revents: 0)
    #expect(try retrying { unsafe poll(&watched, 1, 0) } == 1)
    #expect(watched.revents & Int16(POLLERR) != 0)
  }

  private static func flaw(_ file: borrowing FileDescriptor) -> StateFlaw? {
    stateFlaw(of: FileDescriptor(owning: dup(file.rawValue)))
  }

  private static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor, at offset: Int) throws {
    let descriptor = file.rawValue
    let count = try retrying { unsafe pwrite(descriptor, bytes, bytes.count, off_t(offset)) }
    try #require(count == bytes.count)
  }
}

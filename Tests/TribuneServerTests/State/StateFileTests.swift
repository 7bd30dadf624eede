// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor @Suite("The state that outlives the bus", .timeLimit(.minutes(15)))
struct StateFileTests {
  private static func state(cellCount: Int = 8, areaLength: Int = 65_536) throws -> StateFile {
    try StateFile(cellCount: cellCount, areaLength: areaLength)
  }

  @Test("holds what was committed, as it was and in its order")
  func committed() throws {
    let state = try Self.state()
    var expected: [RecordCopy] = []
    var end = 0
    for (number, kind) in StateRecordKind.allCases.enumerated() {
      for length in [0, 1, 4, 5, 7, 8, 9, 16, 300 + number] {
        var record = RecordCopy(
          kind, connection: .max - UInt64(number), moment: UInt64(length) << 40,
          body: (0..<length).map { UInt8(truncatingIfNeeded: $0 &+ number &+ 1) })
        record.position = end
        #expect(state.append(record)?.offset == end)
        end += record.length
        expected.append(record)
      }
    }
    #expect(state.usedLength == end)
    state.commit()
    for reader in [state, try StateImage(of: state).adopted()] {
      let found = reader.contents()
      #expect(found.records == expected)
      #expect(found.damage == nil)
      #expect(reader.usedLength == end)
    }
  }

  @Test("is the same whether a body comes in one part or in two")
  func parts() throws {
    let state = try Self.state()
    let body: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    for split in 0...body.count {
      _ = state.append(
        .frame, connection: .bus, at: Instant(nanoseconds: 0), Array(body[..<split]).raw,
        Array(body[split...]).raw)
    }
    _ = state.append(.frame, connection: .bus, at: Instant(nanoseconds: 0), body.raw)
    state.commit()
    #expect(state.contents().records.map(\.body) == [[UInt8]](repeating: body, count: body.count + 2))
  }

  @Test("does not hold what was not committed")
  func uncommitted() throws {
    let state = try Self.state()
    let first = RecordCopy(.connection, body: [1])
    #expect(state.append(first) != nil)
    #expect(state.contents().records.isEmpty)
    state.commit()
    let second = RecordCopy(.frame, body: [2, 2, 2])
    #expect(state.append(second)?.offset == 40)
    #expect(try StateImage(of: state).adopted().contents().records == [first])
    state.discardUncommitted()
    #expect(state.usedLength == 40)
    let third = RecordCopy(.frame, body: [3])
    #expect(state.append(third)?.offset == 40)
    state.commit()
    #expect(state.contents().records.map(\.body) == [[1], [3]])
  }

  @Test("does not mind what lies behind what was committed")
  func leftovers() throws {
    let state = try Self.state()
    let record = RecordCopy(.connection, body: [1, 2])
    #expect(state.append(record) != nil)
    state.commit()
    var image = try StateImage(of: state)
    let end = state.header.start(ofArea: 0) + state.usedLength
    for offset in end..<image.bytes.count { image.bytes[offset] = UInt8(truncatingIfNeeded: offset &* 37) }
    let adopted = try image.adopted()
    #expect(adopted.contents().records == [record])
    #expect(adopted.append(RecordCopy(.frame, body: [9, 9, 9])) != nil)
    adopted.commit()
    let found = adopted.contents()
    #expect(found.records.map(\.body) == [[1, 2], [9, 9, 9]])
    #expect(found.damage == nil)
    // What fills a body up is zeros, whatever lay there.
    #expect(try StateImage(of: adopted).bytes[end + 32..<end + 40] == [9, 9, 9, 0, 0, 0, 0, 0])
  }

  @Test("takes no record that it has no room for, and the next that it has", arguments: [32, 40, 96, 1024])
  func full(areaLength: Int) throws {
    let state = try Self.state(areaLength: areaLength)
    #expect(state.areaLength == areaLength)
    let room = areaLength - 32
    #expect(state.append(RecordCopy(.frame, body: [UInt8](repeating: 1, count: room + 1))) == nil)
    #expect(state.usedLength == 0)
    let whole = RecordCopy(.frame, body: [UInt8](repeating: 2, count: room))
    #expect(state.append(whole)?.offset == 0)
    state.commit()
    #expect(state.append(RecordCopy(.moment)) == nil)
    let found = try StateImage(of: state).adopted().contents()
    #expect(found.records == [whole])
    #expect(found.damage == nil)
  }

  @Test("leaves out records of kinds that only newer versions know")
  func newerKind() throws {
    let state = try Self.state()
    #expect(state.append(RecordCopy(.connection, body: [1])) != nil)
    let position = try #require(state.append(RecordCopy(.frame, body: [2, 2])))
    #expect(state.append(RecordCopy(.said, body: [3])) != nil)
    // The kind is the fifth byte.
    let start = state.header.start(ofArea: 0) + position.offset
    let opening = state.mapping.load(at: start)
    state.mapping.store(opening & ~(0xFF << 32) | 200 << 32, at: start)
    let sum = StateRecord.checksum(of: state.bytes(in: start..<start + 40))
    state.mapping.store(sum, at: start + 8)
    state.commit()
    let found = state.contents()
    #expect(found.records.map(\.body) == [[1], [3]])
    #expect(found.damage == nil)
  }

  @Test("ends where it is damaged, and goes on from there")
  func damage() throws {
    let state = try Self.state()
    for number in 1...5 {
      #expect(state.append(RecordCopy(.frame, body: [UInt8(number)])) != nil)
    }
    state.commit()
    let start = state.header.start(ofArea: 0)
    state.mapping.store(0, at: start + 2 * 40 + 32)
    let found = state.contents()
    #expect(found.records.map(\.body) == [[1], [2]])
    #expect(found.damage == StateDamage(position: StatePosition(offset: 80), unreadLength: 120))
    #expect(state.usedLength == 80)
    #expect(try StateImage(of: state).adopted().contents().damage == nil)
    #expect(state.append(RecordCopy(.frame, body: [6]))?.offset == 80)
    state.commit()
    let next = try StateImage(of: state).adopted().contents()
    #expect(next.records.map(\.body) == [[1], [2], [6]])
    #expect(next.damage == nil)
  }

  @Test("holds a cell for each slot")
  func cells() throws {
    let state = try Self.state(cellCount: 3)
    #expect(state.cellCount == 3)
    #expect((0..<3).allSatisfy { state.cell(of: $0) == nil })
    for slot in 0..<3 { state.setCell(slot: slot, connection: ConnectionID(rawValue: 100 + UInt64(slot))) }
    state.set(.flags, of: 1, to: StateCellFlags([.receiving, .incomplete]).rawValue)
    state.set(.queued, of: 1, to: 2)
    state.set(.sent, of: 1, to: .max)
    state.set(.sent, of: 1, to: 5)
    state.set(.saidSent, of: 1, to: 0x8000_0001)
    state.set(.held, of: 1, to: .max)
    state.set(.lost, of: 1, to: 7)
    let expected = [
      StateCell(connection: ConnectionID(rawValue: 100)),
      StateCell(
        connection: ConnectionID(rawValue: 101), flags: [.receiving, .incomplete], queued: 2, sent: 5,
        saidSent: 0x8000_0001, held: .max, lost: 7),
      StateCell(connection: ConnectionID(rawValue: 102)),
    ]
    for reader in [state, try StateImage(of: state).adopted()] {
      #expect((0..<3).map { reader.cell(of: $0) } == expected)
    }
  }

  @Test("gives a cell to another connection without what it said of the one before")
  func cellsAgain() throws {
    let state = try Self.state()
    state.setCell(slot: 2, connection: ConnectionID(rawValue: 5))
    for word in StateCellWord.allCases { state.set(word, of: 2, to: 9) }
    state.clearCell(slot: 2)
    #expect(state.cell(of: 2) == nil)
    state.setCell(slot: 2, connection: ConnectionID(rawValue: 6))
    #expect(state.cell(of: 2) == StateCell(connection: ConnectionID(rawValue: 6)))
    // Without having been cleared before.
    state.set(.held, of: 2, to: 9)
    state.setCell(slot: 2, connection: ConnectionID(rawValue: .max))
    #expect(state.cell(of: 2) == StateCell(connection: ConnectionID(rawValue: .max)))
  }

  @Test("shows damage to a cell's word until the word is stored again")
  func damagedCell() throws {
    let state = try Self.state()
    state.setCell(slot: 0, connection: ConnectionID(rawValue: 5))
    state.cells[0, StateCellWord.sent.rawValue] ^= 4
    #expect(state.cell(of: 0) == nil)
    state.set(.sent, of: 0, to: 1)
    #expect(state.cell(of: 0)?.sent == 1)
    // On which nothing but a figure depends.
    state.cells[0, StateCellWord.lost.rawValue] ^= 4
    #expect(state.cell(of: 0)?.sent == 1)
    #expect(state.cell(of: 0)?.lost == nil)
  }

  @Test("has no cells but those that it was made with")
  func cellsOutside() async {
    await #expect(processExitsWith: .failure) { try await outside(slot: 8) }
    await #expect(processExitsWith: .failure) { try await outside(slot: -1) }
    await #expect(processExitsWith: .failure) { try await outside(slot: 1 << 58) }
    await #expect(processExitsWith: .success) { try await outside(slot: 7) }
  }

  @Test("gives out the cells that were set, and no memory to others")
  func setCells() throws {
    let state = try Self.state(cellCount: 1 << 17, areaLength: 4096)
    let slots = [0, 1, 63, 64, 5_000, (1 << 17) - 1]
    for slot in slots { state.setCell(slot: slot, connection: ConnectionID(rawValue: 100 + UInt64(slot))) }
    state.setCell(slot: 70, connection: ConnectionID(rawValue: 1))
    state.clearCell(slot: 70)
    // The records behind the cells are none.
    #expect(state.append(RecordCopy(.frame, body: [UInt8](repeating: 1, count: 3_000))) != nil)
    func length() throws -> Int {
      var status = stat()
      _ = try retrying { unsafe fstat(state.rawDescriptor, &status) }
      return Int(status.st_blocks)
    }
    let before = try length()
    var found: [Int] = []
    state.forEachCell { slot, cell in
      #expect(cell == StateCell(connection: ConnectionID(rawValue: 100 + UInt64(slot))))
      found.append(slot)
    }
    #expect(found == slots)
    #expect(try length() == before)
    // Which is what looking at each would do.
    #expect(state.cell(of: 50_000) == nil)
    #expect(try length() > before)
  }

  @Test("can do without cells")
  func noCells() throws {
    let state = try Self.state(cellCount: 0, areaLength: 4096)
    #expect(state.append(RecordCopy(.stream, body: [1])) != nil)
    state.commit()
    let adopted = try StateImage(of: state).adopted()
    #expect(adopted.cellCount == 0)
    adopted.forEachCell { slot, _ in Issue.record("there is a cell \(slot)") }
    #expect(adopted.contents().records.map(\.body) == [[1]])
  }

  @Test("cannot be cut, is closed when a program is started, and needs no more memory than it holds")
  func sparse() throws {
    let state = try Self.state(cellCount: 1 << 20, areaLength: 1 << 32)
    #expect(fcntl(state.rawDescriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(ftruncate(state.rawDescriptor, 0) == -1 && errno == EPERM)
    #expect(fcntl(state.rawDescriptor, TRIBUNE_F_ADD_SEALS, 0) == -1 && errno == EPERM)
    state.setCell(slot: (1 << 20) - 1, connection: ConnectionID(rawValue: 1))
    #expect(state.append(RecordCopy(.frame, body: [1])) != nil)
    state.commit()
    var status = stat()
    _ = try retrying { unsafe fstat(state.rawDescriptor, &status) }
    // The header, a page of cells and one of records, whatever the size of a page; in blocks of 512 bytes.
    #expect(status.st_blocks * 512 <= 3 * sysconf(CInt(_SC_PAGESIZE)))
    #expect(status.st_size > 2 << 32)
  }

  @Test("is crowded when much has been appended since the last sweep, and not while one is under way")
  func crowded() throws {
    let state = try Self.state(areaLength: 16 << 20)
    let record = RecordCopy(.frame, body: [UInt8](repeating: 1, count: 65_504))
    /// Appends 64 KiB at a time until the log is crowded, and returns how many KiB it is then.
    func fill() throws -> Int {
      while !state.isCrowded {
        _ = try #require(state.append(record))
        state.commit()
      }
      return state.usedLength >> 10
    }
    func sweep(keeping length: Int) throws {
      state.beginSweep()
      #expect(!state.isCrowded)
      _ = state.sweepStep(lengthMax: .max) { record, _ in
        record.position.offset < length
      } moved: { _, _ in
      }
      try #require(state.endSweep())
      #expect(state.keptLength == length)
    }
    #expect(try fill() == 1024 + 64)
    try sweep(keeping: 65_536)
    #expect(try fill() == 1024 + 64)
    try sweep(keeping: 1 << 20)
    #expect(try fill() == 2048 + 64)
    try sweep(keeping: 2 << 20)
    #expect(try fill() == 4096 + 64)
    // Twice as much would be all that is to be let in.
    try sweep(keeping: 4 << 20)
    #expect(try fill() == 6144 + 64)
    // Half of what is left would be next to nothing.
    while state.append(record) != nil { state.commit() }
    try sweep(keeping: (7 << 20) + 65_536)
    #expect(try fill() == 7680 + 64 + 64)
    while state.append(record) != nil { state.commit() }
    try sweep(keeping: (8 << 20) - 65_536)
    #expect(state.append(record) != nil)
    #expect(!state.isCrowded)
  }
}

/// Stores a word of a cell outside of a state of eight.
@MainActor private func outside(slot: Int) throws {
  let state = try StateFile(cellCount: 8, areaLength: 65_536)
  state.set(.sent, of: slot, to: 1)
}

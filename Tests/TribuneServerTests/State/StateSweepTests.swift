// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneCore
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

@MainActor @Suite("The sweep of a state's log", .timeLimit(.minutes(15)))
struct StateSweepTests {
  private static func state(areaLength: Int = 65_536) throws -> StateFile {
    try StateFile(cellCount: 8, areaLength: areaLength)
  }

  /// Records of 40 bytes, whose connections are 0, 1, 2, …
  private static func fill(_ state: StateFile, _ numbers: Range<UInt64>) throws {
    for number in numbers {
      _ = try #require(state.append(RecordCopy(.frame, connection: number, body: [UInt8(number)])))
    }
    state.commit()
  }

  private static func connections(_ state: StateFile) throws -> [UInt64] {
    let found = state.contents()
    try #require(found.damage == nil)
    return found.records.map(\.connection)
  }

  /// What somebody would find who took over now.
  private static func successor(_ state: StateFile) throws -> [UInt64] {
    try connections(StateImage(of: state).adopted())
  }

  @Test("keeps what is live, in its order, and says where it is now")
  func kept() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<10)
    let before = state.contents().records
    state.beginSweep()
    #expect(state.isSweeping)
    var moves: [Int: Int] = [:]
    let isDone = state.sweepStep(lengthMax: .max) { record, isTail in
      #expect(!isTail)
      return record.connection.rawValue % 3 == 0
    } moved: { record, position in
      moves[record.position.offset] = position.offset
    }
    #expect(isDone)
    #expect(try Self.connections(state) == Array(0..<10))
    #expect(state.endSweep())
    #expect(!state.isSweeping)
    let after = state.contents().records
    #expect(after.map(\.connection) == [0, 3, 6, 9])
    #expect(moves == [0: 0, 120: 40, 240: 80, 360: 120])
    #expect(state.usedLength == 160)
    #expect(state.keptLength == 160)
    // Verbatim, but for where it is.
    for record in after {
      var original = before[Int(record.connection)]
      original.position = record.position
      #expect(record == original)
    }
    try Self.fill(state, 20..<22)
    #expect(try Self.successor(state) == [0, 3, 6, 9, 20, 21])
  }

  @Test("that commits makes what was appended visible with its end, and not before")
  func committing() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<3)
    _ = try #require(state.append(RecordCopy(.frame, connection: 3, body: [3])))
    state.beginSweep(committing: true)
    let isDone = state.sweepStep(lengthMax: .max) { record, _ in
      record.connection.rawValue != 1
    } moved: { _, _ in
    }
    #expect(isDone)
    #expect(try Self.successor(state) == [0, 1, 2])
    #expect(state.endSweep())
    #expect(try Self.successor(state) == [0, 2, 3])
  }

  @Test("goes in steps of about the length that it was given", arguments: [0, 1, 39, 40, 41, 80, 200, 1000])
  func steps(lengthMax: Int) throws {
    let state = try Self.state()
    try Self.fill(state, 0..<20)
    state.beginSweep()
    var seen: [UInt64] = []
    while true {
      let before = seen.count
      let isDone = state.sweepStep(lengthMax: lengthMax) { record, _ in
        seen.append(record.connection.rawValue)
        return true
      } moved: { _, _ in
      }
      if isDone { break }
      try #require((seen.count - before) * 40 >= lengthMax && (seen.count - before - 1) * 40 < lengthMax)
      // A step of nothing would never come to an end.
      if lengthMax == 0 {
        #expect(seen.isEmpty)
        return
      }
    }
    #expect(seen == Array(0..<20))
    try #require(state.endSweep())
    #expect(try Self.connections(state) == Array(0..<20))
  }

  @Test("comes last to what was appended meanwhile, and knows it from the rest")
  func tail() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<4)
    state.beginSweep()
    var tail: [UInt64] = []
    func step(_ lengthMax: Int) -> Bool {
      state.sweepStep(lengthMax: lengthMax) { record, isTail in
        if isTail { tail.append(record.connection.rawValue) }
        return record.connection.rawValue != 5
      } moved: { _, _ in
      }
    }
    #expect(!step(80))
    try Self.fill(state, 4..<6)
    #expect(!step(80))
    #expect(tail.isEmpty)
    // What is not committed does not count yet.
    _ = try #require(state.append(RecordCopy(.frame, connection: 6)))
    #expect(step(.max))
    #expect(tail == [4, 5])
    state.commit()
    #expect(step(.max))
    #expect(tail == [4, 5, 6])
    #expect(state.endSweep())
    #expect(try Self.successor(state) == [0, 1, 2, 3, 4, 6])
  }

  @Test("takes for its tail what is appended in the place of what was taken back")
  func tailAfterDiscarding() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<1)
    _ = try #require(state.append(RecordCopy(.frame, connection: 1)))
    state.beginSweep()
    state.discardUncommitted()
    try Self.fill(state, 2..<3)
    var tail: [UInt64] = []
    _ = state.sweepStep(lengthMax: .max) { record, isTail in
      if isTail { tail.append(record.connection.rawValue) }
      return true
    } moved: { _, _ in
    }
    #expect(tail == [2])
  }

  @Test("has what was appended to it before, between and behind what it keeps")
  func appended() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<4)
    state.beginSweep()
    let counters = try #require(state.appendToSweep(RecordCopy(.counters, connection: 100, body: [1, 2, 3])))
    #expect(counters.offset == 0)
    _ = state.sweepStep(lengthMax: 80) { _, _ in
      true
    } moved: { _, _ in
    }
    #expect(state.appendToSweep(RecordCopy(.retained, connection: 101))?.offset == 120)
    #expect(
      state.sweepStep(lengthMax: .max) { _, _ in
        true
      } moved: { _, _ in
      })
    #expect(state.appendToSweep(RecordCopy(.query, connection: 102))?.offset == 232)
    #expect(try Self.successor(state) == [0, 1, 2, 3])
    #expect(state.endSweep())
    #expect(try Self.successor(state) == [100, 0, 1, 101, 2, 3, 102])
  }

  @Test("that is abandoned has changed nothing, and the next one is whole")
  func abandoned() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<6)
    state.beginSweep()
    _ = try #require(state.appendToSweep(RecordCopy(.counters, body: [UInt8](repeating: 9, count: 300))))
    _ = state.sweepStep(lengthMax: 100) { _, _ in
      true
    } moved: { _, _ in
    }
    state.abandonSweep()
    #expect(!state.isSweeping)
    #expect(state.keptLength == 0)
    #expect(try Self.successor(state) == [0, 1, 2, 3, 4, 5])
    state.beginSweep()
    #expect(
      state.sweepStep(lengthMax: .max) { record, _ in
        record.connection.rawValue > 3
      } moved: { _, _ in
      })
    #expect(state.endSweep())
    #expect(try Self.successor(state) == [4, 5])
  }

  @Test("is abandoned when what is live does not fit, and says so")
  func full() throws {
    let state = try Self.state(areaLength: 424)
    try Self.fill(state, 0..<10)
    #expect(state.usedLength == 400)
    state.beginSweep()
    #expect(state.appendToSweep(RecordCopy(.counters))?.offset == 0)
    var count = 0
    #expect(
      state.sweepStep(lengthMax: .max) { _, _ in
        true
      } moved: { _, _ in
        count += 1
      })
    // The last of them has no room behind 32 bytes and nine records.
    #expect(count == 9)
    // What would have is not taken either: the sweep has failed.
    #expect(state.appendToSweep(RecordCopy(.query)) == nil)
    #expect(!state.endSweep())
    #expect(!state.isSweeping)
    #expect(try Self.successor(state) == Array(0..<10))
    state.beginSweep()
    #expect(
      state.sweepStep(lengthMax: .max) { _, _ in
        true
      } moved: { _, _ in
      })
    #expect(state.appendToSweep(RecordCopy(.query)) == nil)
    #expect(state.endSweep())
    #expect(try Self.successor(state) == Array(0..<10))
  }

  @Test("lets go of records of kinds that only newer versions know")
  func newerKind() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<3)
    let start = state.header.start(ofArea: 0) + 40
    state.mapping.store(state.mapping.load(at: start) & ~(0xFF << 32) | 200 << 32, at: start)
    state.mapping.store(StateRecord.checksum(of: state.bytes(in: start..<start + 40)), at: start + 8)
    state.beginSweep()
    #expect(
      state.sweepStep(lengthMax: .max) { _, _ in
        true
      } moved: { _, _ in
      })
    #expect(state.endSweep())
    #expect(state.usedLength == 80)
    #expect(try Self.successor(state) == [0, 2])
  }

  @Test("gives the memory back that the log had before")
  func memory() throws {
    let state = try Self.state(areaLength: 4 << 20)
    func length() throws -> Int {
      var status = stat()
      _ = try retrying { unsafe fstat(state.rawDescriptor, &status) }
      return Int(status.st_blocks) * 512
    }
    let body = [UInt8](repeating: 5, count: 65_504)
    for _ in 0..<3 {
      while state.append(RecordCopy(.frame, body: body)) != nil { state.commit() }
      #expect(try length() >= 4 << 20)
      state.beginSweep()
      #expect(
        state.sweepStep(lengthMax: .max) {
          $0.position.offset < 1 << 20 && !$1
        } moved: { _, _ in
        })
      #expect(try length() >= 5 << 20)
      #expect(state.endSweep())
      #expect(try length() < 2 << 20)
    }
    state.beginSweep()
    #expect(
      state.sweepStep(lengthMax: .max) { _, _ in
        true
      } moved: { _, _ in
      })
    state.abandonSweep()
    #expect(try length() < 2 << 20)
    // What a killed process left of its sweep goes with the next one.
    state.beginSweep()
    #expect(
      state.sweepStep(lengthMax: .max) { _, _ in
        true
      } moved: { _, _ in
      })
    let adopted = try StateFile(adopting: FileDescriptor(owning: dup(state.rawDescriptor)))
    #expect(try length() >= 2 << 20)
    adopted.beginSweep()
    #expect(try length() < 2 << 20)
  }

  @Test("leaves one whole log, whenever the process is killed")
  func killed() throws {
    let state = try Self.state()
    try Self.fill(state, 0..<6)
    let old: [UInt64] = Array(0..<6)
    state.beginSweep()
    #expect(try Self.successor(state) == old)
    _ = try #require(state.appendToSweep(RecordCopy(.counters, connection: 100)))
    #expect(try Self.successor(state) == old)
    var isDone = false
    while !isDone {
      isDone = state.sweepStep(lengthMax: 40) { record, _ in
        record.connection.rawValue % 2 == 1
      } moved: { _, _ in
      }
      #expect(try Self.successor(state) == old)
    }
    let image = try StateImage(of: state)
    // The stores with which it ends, one at a time, and the memory given back in between.
    let adopted = try image.adopted()
    adopted.publishCommitted(state.log.value.sweep?.written ?? 0, ofArea: 1)
    #expect(try Self.successor(adopted) == old)
    adopted.mapping.publish(StateWord(1).bits, at: StateHeader.activeOffset)
    let new: [UInt64] = [100, 1, 3, 5]
    #expect(try Self.successor(adopted) == new)
    for length in [65_536, 4096] {
      let start = adopted.header.start(ofArea: 0)
      let isDiscarded = adopted.file.discard(start..<start + length)
      #expect(isDiscarded)
      #expect(try Self.successor(adopted) == new)
    }
    // Which is all that its end does.
    #expect(state.endSweep())
    #expect(try StateImage(of: state).bytes == StateImage(of: adopted).bytes)
    // The other way round, with what was committed before still in the header.
    try Self.fill(state, 6..<8)
    state.beginSweep()
    #expect(try Self.successor(state) == new + [6, 7])
    #expect(
      state.sweepStep(lengthMax: .max) { record, _ in
        record.connection.rawValue > 4
      } moved: { _, _ in
      })
    #expect(try Self.successor(state) == new + [6, 7])
    #expect(state.endSweep())
    #expect(try Self.successor(state) == [100, 5, 6, 7])
  }

  @Test("keeps what a model of it keeps", arguments: Seeds.all)
  func model(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let state = try StateFile(cellCount: 1, areaLength: 16_384)
    var model = LogModel()
    var sweeps = 0
    var refusals = 0
    for _ in 0..<4_000 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<9:
        if model.append(to: state, using: &random) == nil { refusals += 1 }
      case 9..<13:
        state.commit()
        model.committedCount = model.records.count
      case 13:
        state.discardUncommitted()
        model.records.removeSubrange(model.committedCount...)
      case 14, 15: model.kill(using: &random)
      case 16:
        try model.expect(try StateImage(of: state).adopted())
      default:
        if try model.sweep(state, using: &random) { sweeps += 1 }
      }
      let used = model.records.reduce(0) { $0 + $1.record.length }
      try #require(state.usedLength == used)
    }
    try model.expect(state)
    // Otherwise nothing was tried.
    #expect(sweeps > 10 && refusals > 0, "\(sweeps) sweeps, \(refusals) refusals")
  }
}

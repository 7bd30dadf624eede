// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

@Suite("Compaction", .timeLimit(.minutes(15)))
struct CompactionTests {
  private static func fill(_ log: WriteAheadLog, _ numbers: Range<UInt64>) throws {
    for number in numbers { _ = try #require(log.append(EntryCopy(3, owner: number, body: [UInt8(number)]))) }
    log.commit()
  }

  private static func successor(_ log: WriteAheadLog) throws -> [UInt64] {
    try LogImage(of: log).adopted().wholeEntries().map(\.owner)
  }

  @Test("commits appended entries only at its end, if so requested")
  func committing() throws {
    let log = try WriteAheadLog()
    try Self.fill(log, 0..<3)
    _ = try #require(log.append(EntryCopy(3, owner: 3, body: [3])))
    log.beginCompaction(committing: true)
    #expect(log.compact { entry, _ in entry.owner != 1 })
    #expect(try Self.successor(log) == [0, 1, 2])
    #expect(log.endCompaction())
    #expect(try Self.successor(log) == [0, 2, 3])
  }

  @Test("reads about as many bytes in a step as requested", arguments: [0, 1, 39, 40, 41, 80, 200, 1000])
  func steps(lengthMax: Int) throws {
    let log = try WriteAheadLog()
    try Self.fill(log, 0..<20)
    log.beginCompaction()
    var seen: [UInt64] = []
    while true {
      let before = seen.count
      let isDone = log.compact(lengthMax: lengthMax) { entry, _ in
        seen.append(entry.owner)
        return true
      }
      if isDone { break }
      try #require((seen.count - before) * 40 >= lengthMax && (seen.count - before - 1) * 40 < lengthMax)
      if lengthMax == 0 {
        #expect(seen.isEmpty)
        return
      }
    }
    #expect(seen == Array(0..<20))
    try #require(log.endCompaction())
    #expect(try log.wholeEntries().map(\.owner) == Array(0..<20))
  }

  @Test("reads entries appended meanwhile last, and marks them as the tail")
  func tail() throws {
    let log = try WriteAheadLog()
    try Self.fill(log, 0..<4)
    log.beginCompaction()
    var tail: [UInt64] = []
    func step(_ lengthMax: Int) -> Bool {
      log.compact(lengthMax: lengthMax) { entry, isTail in
        if isTail { tail.append(entry.owner) }
        return entry.owner != 5
      }
    }
    #expect(!step(80))
    try Self.fill(log, 4..<6)
    #expect(!step(80))
    #expect(tail.isEmpty)
    _ = try #require(log.append(EntryCopy(3, owner: 6)))
    #expect(step(.max))
    #expect(tail == [4, 5])
    log.commit()
    #expect(step(.max))
    #expect(tail == [4, 5, 6])
    #expect(log.endCompaction())
    #expect(try Self.successor(log) == [0, 1, 2, 3, 4, 6])
  }

  @Test("is abandoned if the live entries do not fit, and reports that")
  func full() throws {
    let log = try WriteAheadLog(slotCount: 8, segmentCapacity: 424)
    try Self.fill(log, 0..<10)
    #expect(log.usedLength == 400)
    log.beginCompaction()
    #expect(log.appendToCompaction(EntryCopy(1))?.offset == 0)
    var count = 0
    #expect(
      log.compact(lengthMax: .max) { _, _ in
        true
      } relocated: { _, _ in
        count += 1
      })
    // The last entry does not fit after 32 bytes and nine entries.
    #expect(count == 9)
    #expect(log.appendToCompaction(EntryCopy(7)) == nil)
    #expect(!log.endCompaction())
    #expect(!log.isCompacting)
    #expect(try Self.successor(log) == Array(0..<10))
    log.beginCompaction()
    #expect(log.compact())
    #expect(log.appendToCompaction(EntryCopy(7)) == nil)
    #expect(log.endCompaction())
    #expect(try Self.successor(log) == Array(0..<10))
  }

  @Test("frees the memory of the earlier log")
  func memory() throws {
    let log = try WriteAheadLog(slotCount: 8, segmentCapacity: 4 << 20)
    let body = [UInt8](repeating: 5, count: 65_504)
    for _ in 0..<3 {
      while log.append(EntryCopy(3, body: body)) != nil { log.commit() }
      #expect(try log.storedLength >= 4 << 20)
      log.beginCompaction()
      #expect(log.compact { entry, isTail in entry.position.offset < 1 << 20 && !isTail })
      #expect(try log.storedLength >= 5 << 20)
      #expect(log.endCompaction())
      #expect(try log.storedLength < 2 << 20)
    }
    log.beginCompaction()
    #expect(log.compact())
    log.abandonCompaction()
    #expect(try log.storedLength < 2 << 20)
    log.beginCompaction()
    #expect(log.compact())
    let adopted = try WriteAheadLog(adopting: FileDescriptor(owning: dup(log.rawDescriptor)))
    #expect(try log.storedLength >= 2 << 20)
    adopted.beginCompaction()
    #expect(try log.storedLength < 2 << 20)
  }

  @Test("is abandoned if an entry that it has copied is discarded")
  func discarded() throws {
    let log = try WriteAheadLog(slotCount: 1, segmentCapacity: 16_384)
    _ = log.append(EntryCopy(1, body: [1]))
    log.commit()
    _ = log.append(EntryCopy(1, body: [2]))
    log.beginCompaction(committing: true)
    #expect(log.compact())
    log.discardUncommitted()
    #expect(!log.isCompacting)
    #expect(log.contents().entries.map(\.body) == [[1]])
  }

  @Test("keeps the same entries as a model", arguments: Seeds.all)
  func model(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let log = try WriteAheadLog(slotCount: 1, segmentCapacity: 16_384)
    var model = LogModel()
    var compactions = 0
    var refusals = 0
    for _ in 0..<4_000 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<9: if model.append(to: log, using: &random) == nil { refusals += 1 }
      case 9..<13:
        log.commit()
        model.committedCount = model.entries.count
      case 13:
        log.discardUncommitted()
        model.entries.removeSubrange(model.committedCount...)
      case 14, 15: model.kill(using: &random)
      case 16:
        try model.expect(try LogImage(of: log).adopted())
      default:
        if try model.compaction(log, using: &random) { compactions += 1 }
      }
      let used = model.entries.reduce(0) { $0 + $1.copy.length }
      try #require(log.usedLength == used)
    }
    try model.expect(log)
    #expect(compactions > 10 && refusals > 0, "\(compactions) compactions, \(refusals) refusals")
  }
}

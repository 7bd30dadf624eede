// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

struct LogModel {
  struct Modelled {
    var copy: EntryCopy
    var isLive = true
    var isTail = false
  }

  var entries: [Modelled] = []
  var committedCount = 0
  /// The compaction has read `readCount` entries.
  private var kept: [Modelled]?
  private var readCount = 0
  private var number: UInt64 = 0

  mutating func append(to log: WriteAheadLog, using random: inout SplitMix64) -> EntryPosition? {
    number += 1
    var entry = EntryCopy(
      UInt8.random(in: 1...17, using: &random), owner: number,
      time: random.next(), body: random.bytes(countMax: random.oneIn(10) ? 2_000 : 60))
    if kept != nil, random.oneIn(8) {
      guard let position = log.appendToCompaction(entry) else { return nil }
      entry.position = position.offset
      kept?.append(Modelled(copy: entry))
      return position
    }
    guard let position = log.append(entry) else { return nil }
    entry.position = position.offset
    entries.append(Modelled(copy: entry, isTail: kept != nil))
    return position
  }

  mutating func kill(using random: inout SplitMix64) {
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      guard let index = entries.indices.randomElement(using: &random) else { return }
      entries[index].isLive = false
    }
  }

  mutating func compaction(_ log: WriteAheadLog, using random: inout SplitMix64) throws -> Bool {
    if kept == nil {
      if !random.oneIn(4) { return false }
      log.beginCompaction()
      kept = []
      readCount = 0
      for index in entries.indices { entries[index].isTail = false }
      return false
    }
    if random.oneIn(40) {
      log.abandonCompaction()
      kept = nil
      return false
    }
    let isLast = random.oneIn(3)
    if isLast {
      log.commit()
      committedCount = entries.count
    }
    guard try step(log, lengthMax: isLast ? .max : Int.random(in: 1...600, using: &random)), isLast
    else { return false }
    guard let kept else { return false }
    let isWhole = log.endCompaction()
    self.kept = nil
    guard isWhole else { return false }
    entries = kept
    committedCount = kept.count
    try expect(log)
    return true
  }

  private mutating func step(_ log: WriteAheadLog, lengthMax: Int) throws -> Bool {
    var visited: [(EntryCopy, isTail: Bool)] = []
    var moves: [(EntryCopy, Int)] = []
    let entries = entries
    let read = readCount
    let isDone = log.compact(lengthMax: lengthMax) { entry, isTail in
      visited.append((EntryCopy(entry), isTail))
      return entries[read + visited.count - 1].isLive
    } relocated: { entry, position in
      moves.append((EntryCopy(entry), position.offset))
    }
    for (index, visit) in visited.enumerated() {
      let entry = entries[read + index]
      try #require(visit.0 == entry.copy && visit.isTail == entry.isTail)
    }
    for (entry, position) in moves {
      var moved = entry
      moved.position = position
      kept?.append(Modelled(copy: moved))
    }
    readCount += visited.count
    let liveCount = entries[read..<read + visited.count].count { $0.isLive }
    try #require(moves.count == liveCount || moves.count == liveCount - 1 && isDone)
    try #require(isDone || readCount < committedCount)
    return isDone
  }

  func expect(_ log: WriteAheadLog) throws {
    try #require(try log.wholeEntries() == entries[..<committedCount].map(\.copy))
  }
}

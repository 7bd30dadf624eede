// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneTestSupport
import TribuneWire

@testable import TribuneServer

/// What the log of a state is to hold, for a random run.
@MainActor struct LogModel {
  struct Entry {
    var record: RecordCopy
    var isLive = true
    /// It was appended while a sweep was under way.
    var isTail = false
  }

  var records: [Entry] = []
  var committedCount = 0
  /// What the sweep has kept so far, and how many records it has gone through.
  private var kept: [Entry]?
  private var sweptCount = 0
  private var number: UInt64 = 0

  /// Appends a random record; to the sweep as well as to the log.
  mutating func append(to state: StateFile, using random: inout SplitMix64) -> StatePosition? {
    number += 1
    var record = RecordCopy(
      StateRecordKind.allCases.randomElement(using: &random) ?? .frame, connection: number,
      moment: random.next(), body: random.bytes(countMax: random.oneIn(10) ? 2_000 : 60))
    if kept != nil, random.oneIn(8) {
      guard let position = state.appendToSweep(record) else { return nil }
      record.position = position.offset
      kept?.append(Entry(record: record))
      return position
    }
    guard let position = state.append(record) else { return nil }
    record.position = position.offset
    records.append(Entry(record: record, isTail: kept != nil))
    return position
  }

  /// Makes some of the records dead.
  mutating func kill(using random: inout SplitMix64) {
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      guard let index = records.indices.randomElement(using: &random) else { return }
      records[index].isLive = false
    }
  }

  /// Begins a sweep, goes on with it, or ends it.
  ///
  /// - Returns: whether one has ended.
  mutating func sweep(_ state: StateFile, using random: inout SplitMix64) throws -> Bool {
    if kept == nil {
      if !random.oneIn(4) { return false }
      state.beginSweep()
      kept = []
      sweptCount = 0
      for index in records.indices { records[index].isTail = false }
      return false
    }
    if random.oneIn(40) {
      state.abandonSweep()
      kept = nil
      return false
    }
    let isLast = random.oneIn(3)
    if isLast {
      state.commit()
      committedCount = records.count
    }
    guard try step(state, lengthMax: isLast ? .max : Int.random(in: 1...600, using: &random)), isLast else {
      return false
    }
    guard let kept else { return false }
    let isWhole = state.endSweep()
    self.kept = nil
    guard isWhole else { return false }
    records = kept
    committedCount = kept.count
    try expect(state)
    return true
  }

  /// Goes on with a sweep.
  private mutating func step(_ state: StateFile, lengthMax: Int) throws -> Bool {
    var visited: [(RecordCopy, isTail: Bool)] = []
    var moves: [(RecordCopy, Int)] = []
    let entries = records
    let swept = sweptCount
    let isDone = state.sweepStep(lengthMax: lengthMax) { record, isTail in
      visited.append((RecordCopy(record), isTail))
      return entries[swept + visited.count - 1].isLive
    } moved: { record, position in
      moves.append((RecordCopy(record), position.offset))
    }
    for (index, visit) in visited.enumerated() {
      let entry = entries[swept + index]
      try #require(visit.0 == entry.record && visit.isTail == entry.isTail)
    }
    for (record, position) in moves {
      var copy = record
      copy.position = position
      kept?.append(Entry(record: copy))
    }
    sweptCount += visited.count
    let liveCount = entries[swept..<swept + visited.count].count { $0.isLive }
    // A sweep that has no more room stops.
    try #require(moves.count == liveCount || moves.count == liveCount - 1 && isDone)
    try #require(isDone || sweptCount < committedCount)
    return isDone
  }

  /// Requires that the state holds the committed records.
  func expect(_ state: StateFile) throws {
    let found = state.contents()
    try #require(found.damage == nil)
    try #require(found.records == records[..<committedCount].map(\.record))
  }
}

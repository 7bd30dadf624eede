// SPDX-License-Identifier: Apache-2.0

import CStoreWatch
import Synchronization
import Testing
import TribuneSystem
import TribuneTestSupport
import TribuneWire

@testable import TribuneLog

private struct Contents: Equatable {
  var entries: [EntryCopy]
  var slots: [SlotCopy?]
  var sequences: [LastNumber]

  init(_ log: WriteAheadLog) throws {
    entries = try log.wholeEntries()
    slots = (0..<log.slotCount).map { log.slotCopy($0) }
    sequences = (0..<WriteAheadLog.sequenceCount).map { log.last(ofSequence: $0) }
  }
}

private enum Stores {
  private static let descriptor = Atomic<CInt>(-1)
  private static let images = Mutex<[LogImage]>([])

  /// Call once, before the first `during`.
  static func watch(_ log: WriteAheadLog) {
    descriptor.store(log.rawDescriptor, ordering: .relaxed)
    store_watch_begin(
      { Stores.keep() }, { _ in preconditionFailure("a signal that no store into the log raised") })
    var mapped = log.mutableBytes(in: 0..<log.header.fileLength)
    unsafe mapped.withUnsafeMutableBytes { unsafe store_watch_add($0.baseAddress, $0.count) }
  }

  static func during(_ body: () throws -> Void) rethrows -> [LogImage] {
    store_watch_start(.max)
    defer { store_watch_stop() }
    try body()
    return images.withLock { images in
      defer { images = [] }
      return images
    }
  }

  private static func keep() {
    let image = LogImage(of: descriptor.load(ordering: .relaxed))
    images.withLock { $0.append(image) }
  }
}

@Suite("A log whose process is killed", .timeLimit(.minutes(15)))
struct KilledTests {
  @Test("is as it was before or after the operation, whichever store was the last", arguments: Seeds.all)
  func anywhere(seed: UInt64) async {
    await #expect(processExitsWith: .success) { [seed] in
      var random = SplitMix64(seed: seed)
      let log = try WriteAheadLog(slotCount: 3, segmentCapacity: 2048)
      Stores.watch(log)
      var storeCount = 0
      for _ in 0..<400 {
        let before = try Contents(log)
        var slot: Int?
        let images = Stores.during { slot = Self.act(on: log, &random) }
        let after = try Contents(log)
        // A slot is empty while it is being assigned.
        var between = after
        if let slot { between.slots[slot] = nil }
        for image in images {
          let found = try Contents(image.adopted())
          try #require(found == before || found == after || found == between)
        }
        storeCount += images.count
      }
      #expect(storeCount > 500)
    }
  }

  private static func act(on log: WriteAheadLog, _ random: inout SplitMix64) -> Int? {
    let number = random.next()
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<6: _ = log.append(EntryCopy(UInt8(number % 17), owner: number, body: random.bytes(countMax: 60)))
    case 6..<10: log.commit()
    case 10: log.discardUncommitted()
    case 11..<13:
      let slot = Int(number % 3)
      log.assignSlot(slot, to: number | 1, firstCounter: UInt32(truncatingIfNeeded: number))
      return slot
    case 13..<16:
      let slot = Int(number % 3)
      if log.slot(slot) != nil { log.setCounter(Int(number % 6), of: slot, to: UInt32(number >> 40)) }
    case 16: log.setLast(number >> 8, ofSequence: Int(number % 3))
    default: compact(log, &random)
    }
    return nil
  }

  private static func compact(_ log: WriteAheadLog, _ random: inout SplitMix64) {
    guard log.isCompacting else { return log.beginCompaction(committing: random.oneIn(2)) }
    let keeps = random.next()
    let isDone = log.compact(lengthMax: random.oneIn(2) ? .max : 200) { entry, _ in
      (entry.owner ^ keeps) & 3 != 0
    }
    if random.oneIn(4) { _ = log.appendToCompaction(EntryCopy(1, body: [1])) }
    if isDone, log.entries.value.compaction?.commits == true || log.usedLength == log.entries.value.committed
    {
      _ = log.endCompaction()
    }
  }
}

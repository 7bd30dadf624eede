// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneSystem

@testable import TribuneLog

@Suite("Counter slots", .timeLimit(.minutes(15)))
struct CounterTests {
  @Test("hold counters for their owners")
  func counters() throws {
    let log = try WriteAheadLog(slotCount: 3, segmentCapacity: 4096)
    #expect(log.slotCount == 3)
    #expect((0..<3).allSatisfy { log.slotCopy($0) == nil })
    for slot in 0..<3 { log.assignSlot(slot, to: 100 + UInt64(slot)) }
    let values: [UInt32] = [9, 2, .max, 0x8000_0001, 0, 7]
    log.setCounter(2, of: 1, to: 5)
    for (counter, value) in values.enumerated() { log.setCounter(counter, of: 1, to: value) }
    let expected = [SlotCopy(owner: 100), SlotCopy(owner: 101, counters: values), SlotCopy(owner: 102)]
    for reader in [log, try LogImage(of: log).adopted()] {
      #expect((0..<3).map { reader.slotCopy($0) } == expected)
    }
  }

  @Test("do not keep the counters of the last owner")
  func again() throws {
    let log = try WriteAheadLog()
    log.assignSlot(2, to: 5)
    for counter in 0..<CounterSlot.counterCount { log.setCounter(counter, of: 2, to: 9) }
    log.releaseSlot(2)
    #expect(log.slotCopy(2) == nil)
    log.assignSlot(2, to: 6)
    #expect(log.slotCopy(2) == SlotCopy(owner: 6))
    log.setCounter(4, of: 2, to: 9)
    log.assignSlot(2, to: .max, firstCounter: 3)
    #expect(log.slotCopy(2) == SlotCopy(owner: .max, counters: [3, 0, 0, 0, 0, 0]))
  }

  @Test("show damage to a counter until it is set again")
  func damaged() throws {
    let log = try WriteAheadLog()
    log.assignSlot(0, to: 5)
    log.slots[0, 2] ^= 4
    #expect(log.slotCopy(0) == SlotCopy(owner: 5, counters: [0, 0, nil, 0, 0, 0]))
    log.setCounter(2, of: 0, to: 1)
    #expect(log.slotCopy(0) == SlotCopy(owner: 5, counters: [0, 0, 1, 0, 0, 0]))
  }

  @Test("are as many as the log was created with")
  func outside() async {
    await #expect(processExitsWith: .failure) { try WriteAheadLog().setCounter(2, of: 8, to: 1) }
    await #expect(processExitsWith: .failure) { try WriteAheadLog().setCounter(2, of: -1, to: 1) }
    await #expect(processExitsWith: .failure) { try WriteAheadLog().setCounter(2, of: 1 << 58, to: 1) }
    await #expect(processExitsWith: .success) { try WriteAheadLog().setCounter(2, of: 7, to: 1) }
  }

  @Test("are visited if they are assigned, and need no memory otherwise")
  func visited() throws {
    let log = try WriteAheadLog(slotCount: 1 << 17, segmentCapacity: 4096)
    let numbers = [0, 1, 63, 64, 5_000, (1 << 17) - 1]
    for number in numbers { log.assignSlot(number, to: 100 + UInt64(number)) }
    log.assignSlot(70, to: 1)
    log.releaseSlot(70)
    #expect(log.append(EntryCopy(3, body: [UInt8](repeating: 1, count: 3_000))) != nil)
    let before = try log.storedLength
    var found: [Int] = []
    log.forEachSlot { number, slot in
      #expect(slot.owner == 100 + UInt64(number))
      found.append(number)
    }
    #expect(found == numbers)
    #expect(try log.storedLength == before)
    // Reading an untouched slot takes memory.
    #expect(log.slotCopy(50_000) == nil)
    #expect(try log.storedLength > before)
  }

  @Test("are optional")
  func none() throws {
    let log = try WriteAheadLog(slotCount: 0, segmentCapacity: 4096)
    #expect(log.append(EntryCopy(11, body: [1])) != nil)
    log.commit()
    let adopted = try LogImage(of: log).adopted()
    #expect(adopted.slotCount == 0)
    adopted.forEachSlot { number, _ in Issue.record("there is a slot \(number)") }
    #expect(adopted.contents().entries.map(\.body) == [[1]])
  }
}

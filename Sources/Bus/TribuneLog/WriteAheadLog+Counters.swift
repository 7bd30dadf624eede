// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

// A counter slot is a row of eight words: six counters, the complement of the owner, and the owner. In an
// empty slot, the owner is 0.

package struct CounterSlot {
  package static let counterCount = 6
  static let ownerCheckWord = 6
  static let ownerWord = 7

  package let owner: UInt64
  private let words: SIMD8<UInt64>

  fileprivate init(owner: UInt64, words: SIMD8<UInt64>) { (self.owner, self.words) = (owner, words) }

  package subscript(counter: Int) -> UInt32? {
    precondition((0..<Self.counterCount).contains(counter))
    return CheckedWord(bits: words[counter]).value
  }
}

extension WriteAheadLog {
  /// Gives the slot to `owner` (not 0), and sets all counters but the first to 0. Call this method before you
  /// commit the owner's first entry, because a recovery expects a slot for each owner of entries.
  package func assignSlot(_ slot: Int, to owner: UInt64, firstCounter: UInt32 = 0) {
    releaseSlot(slot)
    setCounter(0, of: slot, to: firstCounter)
    for counter in 1..<CounterSlot.counterCount { setCounter(counter, of: slot, to: 0) }
    slots[slot, CounterSlot.ownerCheckWord] = ~owner
    slots.publish(owner, row: slot, word: CounterSlot.ownerWord)
  }

  func releaseSlot(_ slot: Int) { slots.publish(0, row: slot, word: CounterSlot.ownerWord) }

  /// The slot must have an owner.
  package func setCounter(_ counter: Int, of slot: Int, to value: UInt32) {
    slots[slot, counter] = CheckedWord(value).bits
  }

  package func slot(_ slot: Int) -> CounterSlot? {
    let owner = slots[slot, CounterSlot.ownerWord]
    guard owner != 0, owner == ~slots[slot, CounterSlot.ownerCheckWord] else { return nil }
    var words = SIMD8<UInt64>()
    for word in 0..<CounterSlot.counterCount { words[word] = slots[slot, word] }
    return CounterSlot(owner: owner, words: words)
  }

  /// Skips empty slots, and slots with a damaged owner. Does not read pages that were never written, because
  /// the kernel would allocate memory for these pages.
  package func forEachSlot(_ body: (_ slot: Int, CounterSlot) -> Void) {
    let end = LogHeader.slotsOffset + slotCount * LogHeader.slotLength
    var offset = LogHeader.slotsOffset
    while offset < end, let data = file.data(from: offset) {
      // A page contains a whole number of slots.
      let first = max(data.lowerBound, offset) - LogHeader.slotsOffset
      let last = min(data.upperBound, end) - LogHeader.slotsOffset
      for index in first / LogHeader.slotLength..<max(first, last) / LogHeader.slotLength {
        if let slot = slot(index) { body(index, slot) }
      }
      offset = data.upperBound
    }
  }
}

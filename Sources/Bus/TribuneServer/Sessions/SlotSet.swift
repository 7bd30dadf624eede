// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// A set of slots, as a bitmap up to the highest slot ever inserted.
nonisolated struct SlotSet {
  private static let wordLength = 64

  private var words: [UInt64] = []

  @inline(__always) func contains(_ slot: ConnectionSlot) -> Bool {
    let word = slot.index / Self.wordLength
    return word < words.count && words[word] & Self.bit(of: slot) != 0
  }

  mutating func insert(_ slot: ConnectionSlot) {
    let word = slot.index / Self.wordLength
    if word >= words.count {
      words.append(contentsOf: repeatElement(0, count: word + 1 - words.count))
    }
    words[word] |= Self.bit(of: slot)
  }

  mutating func remove(_ slot: ConnectionSlot) {
    guard contains(slot) else { return }
    words[slot.index / Self.wordLength] &= ~Self.bit(of: slot)
  }

  func visit(_ body: (ConnectionSlot) -> Void) {
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        body(ConnectionSlot(index: index * Self.wordLength + rest.trailingZeroBitCount))
        rest &= rest - 1
      }
    }
  }

  private static func bit(of slot: ConnectionSlot) -> UInt64 { 1 << UInt64(slot.index % wordLength) }
}

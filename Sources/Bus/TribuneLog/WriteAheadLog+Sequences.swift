// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

package enum LastNumber: Equatable, Sendable {
  case given(UInt64)
  case unwritten
  case damaged
}

// A sequence gives out increasing numbers, such as ids. The log's header has the last number of each
// sequence. Entries can contain this number, too, but damage can destroy entries.

extension WriteAheadLog {
  package static let sequenceCount = 3

  /// Sets the last number of a sequence, at most 2^56 − 1. Call this method before you use the number.
  package func setLast(_ number: UInt64, ofSequence sequence: Int) {
    mapping.store(CheckedNumber(number).bits, at: Self.offset(ofSequence: sequence))
  }

  package func last(ofSequence sequence: Int) -> LastNumber {
    let word = CheckedNumber(bits: mapping.load(at: Self.offset(ofSequence: sequence)))
    if word.bits == 0 { return .unwritten }
    return word.number.map { .given($0) } ?? .damaged
  }

  private static func offset(ofSequence sequence: Int) -> Int {
    precondition((0..<sequenceCount).contains(sequence))
    return LogHeader.sequencesOffset + 8 * sequence
  }
}

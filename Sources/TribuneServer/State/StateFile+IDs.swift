// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// What there are ids of. The numbers are places in the header.
nonisolated package enum StateID: Int, CaseIterable, Sendable {
  case connection = 0
  case query = 1
  case delegate = 2
}

/// What a state says of the ids that have been given out.
nonisolated package enum StateLastID: Equatable, Sendable {
  case given(UInt64)
  /// Who wrote the state did not say.
  case unwritten
  case damaged
}

// The log says it as well, as far as there is one: what lies in the header is as true when some of it is lost.

extension StateFile {
  /// Notes that ids up to that one have been given out; to be called before anybody learns of it.
  @inline(__always) package func setLast(_ id: StateID, _ number: UInt64) {
    mapping.store(StateIDWord(number).bits, at: StateHeader.lastIDsOffset + 8 * id.rawValue)
  }

  package func last(_ id: StateID) -> StateLastID {
    let word = StateIDWord(bits: mapping.load(at: StateHeader.lastIDsOffset + 8 * id.rawValue))
    if word.bits == 0 { return .unwritten }
    return word.number.map { .given($0) } ?? .damaged
  }
}

/// The number of an id as it lies in the state: below a byte that follows from it, in one word, so that one plain store
/// changes it and a flipped bit shows. A word that was never written is none.
nonisolated struct StateIDWord {
  let bits: UInt64

  /// No bus comes to give so many.
  private static let most: UInt64 = 1 << 56 - 1

  init(bits: UInt64) { self.bits = bits }

  @inline(__always) init(_ number: UInt64) {
    let number = min(number, Self.most)
    bits = number | Self.check(of: number) << 56
  }

  /// Nil if it is damaged.
  var number: UInt64? {
    let number = bits & Self.most
    return bits >> 56 == Self.check(of: number) ? number : nil
  }

  /// The complement of its bytes' exclusive or.
  @inline(__always) private static func check(of number: UInt64) -> UInt64 {
    var sum = number ^ number >> 32
    sum ^= sum >> 16
    sum ^= sum >> 8
    return ~sum & 0xFF
  }
}

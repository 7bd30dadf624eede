// SPDX-License-Identifier: Apache-2.0

/// A number of 32 bits below its complement, in one word: one plain store changes it, and a flipped bit shows. A word that
/// was never written is not valid.
@usableFromInline struct CheckedWord {
  @usableFromInline let bits: UInt64

  @inline(__always) init(bits: UInt64) { self.bits = bits }

  @inlinable @inline(__always) init(_ value: UInt32) { bits = UInt64(value) | UInt64(~value) << 32 }

  /// Nil if it is damaged.
  var value: UInt32? {
    let low = UInt32(truncatingIfNeeded: bits)
    return low == ~UInt32(truncatingIfNeeded: bits >> 32) ? low : nil
  }
}

/// A number of 56 bits below a check of 8 bits, in one word, for the same reasons.
struct CheckedNumber {
  let bits: UInt64

  static let most: UInt64 = 1 << 56 - 1

  init(bits: UInt64) { self.bits = bits }

  /// A number above `most` is written as `most`.
  init(_ number: UInt64) {
    let number = min(number, Self.most)
    bits = number | Self.check(of: number) << 56
  }

  /// Nil if it is damaged.
  var number: UInt64? {
    let number = bits & Self.most
    return bits >> 56 == Self.check(of: number) ? number : nil
  }

  /// The complement of the exclusive or of the number's bytes.
  private static func check(of number: UInt64) -> UInt64 {
    var sum = number ^ number >> 32
    sum ^= sum >> 16
    sum ^= sum >> 8
    return ~sum & 0xFF
  }
}

// SPDX-License-Identifier: Apache-2.0

/// A 64-bit word with a 32-bit number in its low half. The high half is the number's complement, which
/// reveals flipped bits. A word of zeros is invalid.
struct CheckedWord {
  let bits: UInt64

  init(bits: UInt64) { self.bits = bits }

  init(_ value: UInt32) { bits = UInt64(value) | UInt64(~value) << 32 }

  var value: UInt32? {
    let low = UInt32(truncatingIfNeeded: bits)
    return low == ~UInt32(truncatingIfNeeded: bits >> 32) ? low : nil
  }
}

/// A 64-bit word with a 56-bit number. The highest byte is a checksum of the number.
struct CheckedNumber {
  let bits: UInt64

  static let most: UInt64 = 1 << 56 - 1

  init(bits: UInt64) { self.bits = bits }

  /// Clamps the number to `most`.
  init(_ number: UInt64) {
    let number = min(number, Self.most)
    bits = number | Self.check(of: number) << 56
  }

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

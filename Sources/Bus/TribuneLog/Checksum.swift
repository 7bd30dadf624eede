// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A 64-bit checksum. It detects broken memory and mistakes of the writer, but not forgery.
///
/// Each step combines a sum with one word by an exclusive or, a rotation, and a multiplication by an odd
/// number. These operations are bijections, so the result changes if only one word changes. Of other changes,
/// the checksum misses one in 2^64. Two sums alternate, so the processor can overlap their steps.
enum Checksum {
  private static let first: UInt64 = 0x9E6C_63D0_876A_46D1
  private static let second: UInt64 = 0xC2B2_AE3D_27D4_EB4F

  /// - Parameter bytes: whole words of 8 bytes, aligned to 8 bytes.
  static func of(_ head: UInt64, _ bytes: RawSpan) -> UInt64 {
    let words = Span<UInt64>(_bytes: bytes)
    var one = (head ^ first).rotated &* second
    var other = second
    var index = 0
    while index < words.count - 1 {
      one = (one ^ words[index]).rotated &* first
      other = (other ^ words[index + 1]).rotated &* second
      index += 2
    }
    if index < words.count { one = (one ^ words[index]).rotated &* first }
    let sum = (one ^ (other.rotated &* first)) &* second
    return sum ^ sum >> 32
  }
}

extension UInt64 {
  fileprivate var rotated: UInt64 { self << 29 | self >> 35 }
}

// SPDX-License-Identifier: Apache-2.0

/// A checksum of 64 bits over whole words, against what breaks memory or a writer; not against somebody who means
/// to deceive.
///
/// Each step takes one word in, and is a bijection of the word as well as of what came before: exclusive or, a
/// rotation, and a multiplication by an odd number all are. So a change of one word changes the result, always; any
/// other change goes unseen once in 2^64. Two sums take turns, since each step has to wait for the one before it.
nonisolated enum StateChecksum {
  private static let first: UInt64 = 0x9E6C_63D0_876A_46D1
  private static let second: UInt64 = 0xC2B2_AE3D_27D4_EB4F

  /// - Parameter bytes: whole words, which begin at a multiple of 8.
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
  fileprivate nonisolated var rotated: UInt64 { self << 29 | self >> 35 }
}

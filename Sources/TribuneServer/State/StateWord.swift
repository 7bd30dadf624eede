// SPDX-License-Identifier: Apache-2.0

/// A number as it lies in the state: below its complement, in one word, so that one plain store changes it and a
/// flipped bit shows. A word that was never written is none.
nonisolated struct StateWord {
  let bits: UInt64

  @inline(__always) init(bits: UInt64) { self.bits = bits }

  @inline(__always) init(_ value: UInt32) { bits = UInt64(value) | UInt64(~value) << 32 }

  /// Nil if it is damaged.
  var value: UInt32? {
    let low = UInt32(truncatingIfNeeded: bits)
    return low == ~UInt32(truncatingIfNeeded: bits >> 32) ? low : nil
  }
}

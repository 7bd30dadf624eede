// SPDX-License-Identifier: Apache-2.0

/// Decides when enough of the heap is free to return it to the kernel.
///
/// That is when use has fallen below half of its peak, and by at least `leastFall`. The peak is then measured anew, so
/// however use rises and falls, returning the memory costs less than filling it did.
nonisolated struct HeapUse {
  /// The smallest fall in bytes. Allocating as much again costs a few milliseconds.
  static let leastFall = 32 << 20

  private var peak = 0
  private(set) var hasFallen = false

  /// - Parameter byteCount: bytes in use now.
  mutating func note(_ byteCount: Int) {
    if byteCount > peak {
      peak = byteCount
    } else if byteCount < peak / 2, peak - byteCount >= Self.leastFall {
      hasFallen = true
    }
  }
}

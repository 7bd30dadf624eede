// SPDX-License-Identifier: Apache-2.0

/// Decides when to return free heap memory to the kernel. After each return, the recorded peak starts at zero
/// again. So memory is filled before each return, which costs more than the return.
nonisolated struct HeapUse {
  /// In bytes. Allocating as much again costs a few milliseconds.
  static let leastFall = 32 << 20

  private var peak = 0
  private(set) var hasFallen = false

  mutating func record(_ byteCount: Int) {
    if byteCount > peak {
      peak = byteCount
    } else if byteCount < peak / 2, peak - byteCount >= Self.leastFall {
      hasFallen = true
    }
  }
}

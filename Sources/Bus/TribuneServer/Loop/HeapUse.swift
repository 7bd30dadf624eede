// SPDX-License-Identifier: Apache-2.0

/// Decides when to return free heap memory to the kernel: if use falls below half of its peak. Each return
/// resets the peak. Memory must then be filled again before the next return, and filling costs more.
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

// SPDX-License-Identifier: Apache-2.0

/// Decides when to return free heap memory to the kernel: if use falls below half of its peak, and by at
/// least `leastFall`. After a return, the peak starts at the current use. Use must halve before each return,
/// so only a few returns can follow each other before the bus fills memory again. Filling takes longer than
/// returning, so returns take the smaller part of the time.
nonisolated struct HeapUse {
  /// In bytes. Filling this much memory again takes a few milliseconds.
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

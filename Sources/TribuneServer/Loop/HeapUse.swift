// SPDX-License-Identifier: Apache-2.0

/// Whether so much of the heap has become free that it is worth giving back.
///
/// It is when less than half is left of what was in use at the peak, and a good deal has gone. Then there is a new peak to
/// fall from: however use rises and falls, what is given back costs less than what it took to fill it.
nonisolated struct HeapUse {
  /// Bytes that must have gone: to take so much anew costs a few milliseconds.
  static let leastFall = 32 << 20

  private var peak = 0
  private(set) var hasFallen = false

  /// - Parameter byteCount: what is in use now.
  mutating func note(_ byteCount: Int) {
    if byteCount > peak {
      peak = byteCount
    } else if byteCount < peak / 2, peak - byteCount >= Self.leastFall {
      hasFallen = true
    }
  }

  /// What was free was given back. The next use that is noted is the new peak.
  mutating func beginAnew() {
    self = HeapUse()
  }
}

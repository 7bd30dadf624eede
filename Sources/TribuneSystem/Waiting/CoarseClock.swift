// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Time that is cheap to read, with a resolution of a few milliseconds.
package enum CoarseClock {
  /// Nanoseconds since an arbitrary moment; changes with the kernel's tick.
  package static var tick: Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Time that is cheap to read, with a resolution of a few milliseconds.
package enum CoarseClock {
  /// Nanoseconds since an arbitrary moment; changes with the kernel's tick.
  package static var tick: Int64 { Int64(SystemClock.nanoseconds(CLOCK_MONOTONIC_COARSE)) }
}

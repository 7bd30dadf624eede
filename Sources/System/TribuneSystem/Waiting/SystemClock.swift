// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum SystemClock {
  /// The time of CLOCK_MONOTONIC, the clock of Dispatch's uptime.
  package static var monotonicNanoseconds: UInt64 { nanoseconds(CLOCK_MONOTONIC) }

  package static var threadNanoseconds: UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

  /// The time since 1970, in UTC.
  package static var wallMicroseconds: UInt64 { nanoseconds(CLOCK_REALTIME) / 1000 }

  /// The monotonic time, with the resolution of the kernel's tick: a few milliseconds.
  package static var coarseNanoseconds: Int64 { Int64(nanoseconds(CLOCK_MONOTONIC_COARSE)) }

  private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum SystemClock {
  /// Nanoseconds of CLOCK_MONOTONIC, the clock that Dispatch's uptime runs on.
  package static var monotonicNanoseconds: UInt64 { nanoseconds(CLOCK_MONOTONIC) }

  /// Nanoseconds of a processor that the calling thread has used.
  package static var threadNanoseconds: UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

  /// Microseconds since 1970, UTC.
  package static var wallMicroseconds: UInt64 { nanoseconds(CLOCK_REALTIME) / 1000 }

  /// Nanoseconds since an arbitrary moment, cheap to read, with a resolution of a few milliseconds: the kernel's tick.
  package static var coarseNanoseconds: Int64 { Int64(nanoseconds(CLOCK_MONOTONIC_COARSE)) }

  private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

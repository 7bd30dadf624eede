// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A timer that an epoll waits for with its sockets. Setting it is cheaper than a timeout for each wait, for which
/// the kernel starts and stops a timer every time.
package struct Alarm: ~Copyable {
  private let timer: FileDescriptor

  package init() throws(Errno) {
    let flags = O_CLOEXEC | O_NONBLOCK
    timer = FileDescriptor(owning: try retrying { timerfd_create(CLOCK_MONOTONIC, flags) })
  }

  /// Readable when the timer has expired.
  package var rawValue: CInt { timer.rawValue }

  /// Sets the timer to expire once, this long from now; replaces an earlier setting.
  ///
  /// - Parameter nanoseconds: more than 0, less than a second.
  package func set(nanoseconds: Int) {
    precondition(nanoseconds > 0 && nanoseconds < 1_000_000_000)
    var time = itimerspec()
    time.it_value.tv_nsec = nanoseconds
    let result = unsafe timerfd_settime(timer.rawValue, 0, &time, nil)
    precondition(result == 0, "a timer of \(nanoseconds) ns cannot be set: \(Errno.current)")
  }

  /// Makes it unreadable again after it has expired.
  package func clear() {
    var count: UInt64 = 0
    _ = unsafe read(timer.rawValue, &count, MemoryLayout<UInt64>.size)
  }
}

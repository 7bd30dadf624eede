// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A timer whose descriptor epoll can watch. A timeout of epoll_wait(2) would cost more, because the kernel
/// would start and stop a timer for each wait.
package struct Alarm: ~Copyable {
  private let timer: FileDescriptor

  package init() throws(Errno) {
    let flags = O_CLOEXEC | O_NONBLOCK
    timer = FileDescriptor(owning: try retrying { timerfd_create(CLOCK_MONOTONIC, flags) })
  }

  package var rawValue: CInt { timer.rawValue }

  /// - Parameter nanoseconds: more than 0, and less than a second.
  package func set(nanoseconds: Int) {
    precondition(nanoseconds > 0 && nanoseconds < 1_000_000_000)
    var time = itimerspec()
    time.it_value.tv_nsec = nanoseconds
    let result = unsafe timerfd_settime(timer.rawValue, 0, &time, nil)
    precondition(result == 0, "a timer of \(nanoseconds) ns cannot be set: \(Errno.current)")
  }

  package func clear() {
    var count: UInt64 = 0
    _ = unsafe read(timer.rawValue, &count, MemoryLayout<UInt64>.size)
  }
}

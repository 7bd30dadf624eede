// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A timer that an epoll waits for with its sockets: cheaper to set than a limit on each wait, which has the kernel
/// start and stop a timer for every one.
package struct Alarm: ~Copyable {
  private let timer: FileDescriptor

  package init() throws(Errno) {
    let flags = O_CLOEXEC | O_NONBLOCK
    timer = FileDescriptor(owning: try retrying { timerfd_create(CLOCK_MONOTONIC, flags) })
  }

  /// Is readable when it has gone off.
  package var rawValue: CInt { timer.rawValue }

  /// Has it go off once, so long from now; whatever it was set to before is forgotten.
  ///
  /// - Parameter nanoseconds: more than 0, less than a second.
  package func set(nanoseconds: Int) {
    precondition(nanoseconds > 0 && nanoseconds < 1_000_000_000)
    var time = itimerspec()
    time.it_value.tv_nsec = nanoseconds
    let result = unsafe timerfd_settime(timer.rawValue, 0, &time, nil)
    precondition(result == 0, "a timer of \(nanoseconds) ns was refused")
  }

  /// Has it readable no more, after it has gone off.
  package func clear() {
    var count: UInt64 = 0
    _ = unsafe read(timer.rawValue, &count, MemoryLayout<UInt64>.size)
  }
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Wakes a thread that waits in `Poll`. Any thread may call `signal()`.
package struct Wakeup: ~Copyable, Sendable {
  private let counter: FileDescriptor

  package init() throws(Errno) {
    let flags = CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK)
    counter = FileDescriptor(owning: try retrying { eventfd(0, flags) })
  }

  var rawValue: CInt { counter.rawValue }

  /// Wakes the thread. Several signals before `clear()` have the effect of one.
  package func signal() {
    // The write fails only if the counter is full. The waiting thread then wakes anyway.
    _ = eventfd_write(counter.rawValue, 1)
  }

  /// Waits for a signal, and clears it. Can return before the limit without a signal.
  package func wait(atMost limit: Duration) {
    do throws(Errno) {
      _ = try Poll.wait(for: self, timeout: limit)
    } catch {
      // The kernel lacks memory for the wait.
      Thread.sleep(milliseconds: 10)
    }
    clear()
  }

  package func clear() { Self.clear(counter.rawValue) }

  /// `counter` must be a non-blocking eventfd.
  package static func clear(_ counter: CInt) {
    var count: eventfd_t = 0
    let result = unsafe eventfd_read(counter, &count)
    precondition(result == 0 || errno == EAGAIN || errno == EINTR)
  }
}

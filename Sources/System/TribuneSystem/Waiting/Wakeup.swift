// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Wakes a thread that waits in `Poll`, from any other thread.
package struct Wakeup: ~Copyable, Sendable {
  private let counter: FileDescriptor

  package init() throws(Errno) {
    let flags = CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK)
    counter = FileDescriptor(owning: try retrying { eventfd(0, flags) })
  }

  var rawValue: CInt { counter.rawValue }

  /// Signals once; signals that were not cleared in between count as one.
  package func signal() {
    // It fails only when the counter is full; then the other side is being woken anyway.
    _ = eventfd_write(counter.rawValue, 1)
  }

  /// Waits for a signal, and clears it. May return earlier.
  package func wait(atMost limit: Duration) {
    do throws(Errno) {
      _ = try Poll.wait(for: self, timeout: limit)
    } catch {
      // The kernel has no memory for the wait now, but may have it a moment later.
      Thread.sleep(milliseconds: 10)
    }
    clear()
  }

  /// Clears the signals so far.
  package func clear() { Self.clear(counter.rawValue) }

  /// Clears an eventfd that other code owns, and that does not block.
  package static func clear(_ counter: CInt) {
    var count: eventfd_t = 0
    let result = unsafe eventfd_read(counter, &count)
    precondition(result == 0 || errno == EAGAIN || errno == EINTR)
  }
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Wakes a thread in `Poll` from any thread.
package struct Wakeup: ~Copyable, Sendable {
  private let counter: FileDescriptor

  package init() throws(Errno) {
    let flags = CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK)
    counter = FileDescriptor(owning: try retrying { eventfd(0, flags) })
  }

  var rawValue: CInt { counter.rawValue }

  /// Signals merge until they are cleared.
  package func signal() {
    // Fails only for a full counter; the other side then wakes anyway.
    _ = eventfd_write(counter.rawValue, 1)
  }

  /// May return early.
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

  /// The eventfd must be non-blocking.
  package static func clear(_ counter: CInt) {
    var count: eventfd_t = 0
    let result = unsafe eventfd_read(counter, &count)
    precondition(result == 0 || errno == EAGAIN || errno == EINTR)
  }
}

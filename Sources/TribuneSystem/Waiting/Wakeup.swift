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

  /// Clears the signals so far.
  package func clear() {
    var count: eventfd_t = 0
    _ = unsafe eventfd_read(counter.rawValue, &count)
  }
}

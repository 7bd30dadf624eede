// SPDX-License-Identifier: Apache-2.0

import Glibc

package struct SignalMask: Sendable {
  fileprivate(set) var set = sigset_t()

  package init(_ signals: [Int32]) {
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
  }

  /// Blocks the signals in this thread, and in the threads that it starts later. Returns the previous mask.
  @discardableResult
  package func block() -> SignalMask {
    var before = SignalMask([])
    var blocked = set
    _ = unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before.set)
    return before
  }

  package func unblock() {
    var unblocked = set
    _ = unsafe pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A set of signals, as a thread blocks them.
package struct SignalMask: Sendable {
  fileprivate(set) var set = sigset_t()

  package init(_ signals: [Int32]) {
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
  }

  /// Blocks these signals, too, in the calling thread and in those that it will start.
  ///
  /// - Returns: the signals that were blocked before.
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

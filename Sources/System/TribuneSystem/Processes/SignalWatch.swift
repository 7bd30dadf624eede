// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Synchronization

/// Receives signals. The watch must be made before the process has a second thread, because a signal that
/// some thread does not block would end the process. The watch also blocks SIGPIPE: a write to a pipe without
/// a reader then returns an error.
package struct SignalWatch: Sendable {
  package struct Signal: Equatable, Sendable {
    package var number: Int32
    /// True if the kernel sent the signal, for example for Ctrl-C at a terminal. The terminal's whole
    /// foreground group then gets the signal, including children.
    package var isFromKernel: Bool
  }

  private final class Use: Sendable { let hasBegun = Atomic(false) }

  private let stream: AsyncStream<Signal>
  private let use = Use()
  /// The signal mask before this watch. Children must start with this mask.
  package let maskBefore: SignalMask

  package var signals: AsyncStream<Signal> {
    begin()
    return stream
  }

  /// Makes `signals` deliver the signals. Before this call, they have their default effect, so a user can end
  /// a process that hangs at its start.
  package func begin() { use.hasBegun.store(true, ordering: .releasing) }

  /// - Parameter numbers: the signals to receive. A signal that this process ignores from its start stays
  ///   ignored, also in children: nohup ignores SIGHUP, and a shell ignores SIGINT and SIGQUIT for background
  ///   commands.
  package init(_ numbers: [Int32]) throws(Errno) {
    let mask = SignalMask(numbers.filter { tribune_signal_is_ignored($0) == 0 })
    maskBefore = SignalMask([SIGPIPE]).block()
    mask.block()
    let (stream, continuation) = AsyncStream<Signal>.makeStream()
    self.stream = stream
    if numbers.isEmpty { return }
    let use = use
    try Thread.start {
      var set = mask.set
      while true {
        var information = unsafe siginfo_t()
        let number = unsafe sigwaitinfo(&set, &information)
        // sigwaitinfo(2) fails only with EINTR.
        guard number > 0 else { continue }
        guard use.hasBegun.load(ordering: .acquiring) else {
          let received = SignalMask([number])
          received.unblock()
          raise(number)
          received.block()
          continue
        }
        continuation.yield(Signal(number: number, isFromKernel: unsafe information.si_code > 0))
      }
    }
  }
}

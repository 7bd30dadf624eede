// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Signals as a sequence of values.
///
/// It must be made before the process has a second thread: a signal that some thread does not block would end the
/// process. SIGPIPE is blocked as well: writing without a reader is an error of that write, and has no other effect.
package struct SignalWatch: Sendable {
  package struct Signal: Equatable, Sendable {
    package var number: Int32
    /// Whether the kernel sent it, as a terminal does to its whole foreground group: children in that group have
    /// received it already.
    package var isFromKernel: Bool
  }

  package let signals: AsyncStream<Signal>
  /// The mask from before, with which children must start.
  package let maskBefore: SignalMask

  /// - Parameter numbers: the signals; may be empty. A signal that the process already ignores stays ignored, for its
  ///   children too: nohup ignores SIGHUP, and a shell ignores SIGINT and SIGQUIT for the commands that it starts in
  ///   the background.
  /// - Throws: the error if no thread can be started to wait for them.
  package init(_ numbers: [Int32]) throws(Errno) {
    let mask = SignalMask(numbers.filter { tribune_signal_is_ignored($0) == 0 })
    maskBefore = SignalMask([SIGPIPE]).block()
    mask.block()
    let (stream, continuation) = AsyncStream<Signal>.makeStream()
    signals = stream
    if numbers.isEmpty { return }
    try Thread.start {
      var set = mask.set
      while true {
        var information = unsafe siginfo_t()
        let number = unsafe sigwaitinfo(&set, &information)
        // It can fail only with EINTR, which a stop and a continue cause.
        guard number > 0 else { continue }
        continuation.yield(Signal(number: number, isFromKernel: unsafe information.si_code > 0))
      }
    }
  }
}

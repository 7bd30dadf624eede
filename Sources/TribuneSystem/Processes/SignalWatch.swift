// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Signals as a sequence of values.
///
/// It has to be made before the process has a second thread: a thread that does not block the signals
/// would be ended by them. SIGPIPE is blocked as well: writing to somebody who reads no more is an error
/// of that write, and ends nothing else.
package struct SignalWatch: Sendable {
  package struct Signal: Equatable, Sendable {
    package var number: Int32
    /// The kernel sent it, as a terminal does to its whole foreground group: children in that group
    /// have had it already.
    package var isFromKernel: Bool
  }

  /// Each signal that came, in order.
  package let signals: AsyncStream<Signal>
  /// What was blocked before: the mask for children to start with.
  package let maskBefore: SignalMask

  /// - Parameter numbers: the signals; none is fine. One that the process ignores already stays ignored, for
  ///   its children too: so nohup does with SIGHUP, and a shell with SIGINT and SIGQUIT for what it starts
  ///   behind its back.
  /// - Throws: why there is no thread to wait for them.
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
        // EINTR is all that it can fail with; a stop and a continue do that.
        guard number > 0 else { continue }
        continuation.yield(Signal(number: number, isFromKernel: unsafe information.si_code > 0))
      }
    }
  }
}

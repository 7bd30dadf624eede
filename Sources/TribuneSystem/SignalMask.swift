// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Dispatch
import Glibc

/// A set of signals, as a thread blocks them.
package struct SignalMask: Sendable {
  fileprivate(set) var set = sigset_t()

  package init(_ signals: [Int32]) {
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
  }

  /// What the calling thread blocks now.
  package static var current: SignalMask {
    var mask = SignalMask([])
    // It fails only for a wrong first argument.
    _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &mask.set)
    return mask
  }

  /// Blocks these signals too in the calling thread and in those that it will start.
  ///
  /// - Returns: what was blocked before.
  @discardableResult
  package func block() -> SignalMask {
    var before = SignalMask([])
    var blocked = set
    _ = unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before.set)
    return before
  }
}

/// Signals as a sequence of values.
///
/// It has to be made before the process has a second thread: a thread that does not block the signals
/// would be ended by them.
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

  /// - Parameter numbers: those that the process ignores already (`nohup`, a shell's background jobs)
  ///   stay ignored.
  package init(_ numbers: [Int32]) {
    let mask = SignalMask(numbers.filter { tribune_signal_is_ignored($0) == 0 })
    maskBefore = mask.block()
    let (stream, continuation) = AsyncStream<Signal>.makeStream()
    signals = stream
    DispatchQueue(label: "tribune.signals").async {
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

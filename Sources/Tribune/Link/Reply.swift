// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How a call that waits is told what came of it: once, or the process stops, and so it does if nobody tells it.
///
/// A `CheckedContinuation` checks less of that (one that is forgotten is only said to be), and costs more: its layout is
/// not known before a program runs, so that all that holds one is copied and moved by asking for it. That was an eighth
/// of all that an `ask` does.
@safe final class Reply<Value: Sendable>: Sendable {
  typealias Outcome = Result<Value, TribuneError>

  private let continuation: UnsafeContinuation<Outcome, Never>
  private let isResumed = Atomic(false)

  private init(_ continuation: UnsafeContinuation<Outcome, Never>) { unsafe self.continuation = continuation }

  deinit { precondition(isResumed.load(ordering: .relaxed), "a call waits for a reply that nobody has") }

  /// Has `body` see to it that somebody replies, and returns the reply.
  static func wait(_ body: (Reply) -> Void) async -> Outcome {
    await unsafe withUnsafeContinuation { unsafe body(Reply($0)) }
  }

  func resume(returning outcome: Outcome) {
    let isSecond = isResumed.exchange(true, ordering: .relaxed)
    precondition(!isSecond, "a call has been replied to before")
    unsafe continuation.resume(returning: outcome)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The reply to a waiting call. The process stops if it is given twice, or never.
///
/// A `CheckedContinuation` checks less (it only warns if it is never resumed), and costs more: its layout is only
/// known when the program runs, so everything that contains one is copied and moved by way of runtime metadata. That
/// was an eighth of the cost of an `ask`.
@safe final class Reply<Value: Sendable>: Sendable {
  typealias Outcome = Result<Value, TribuneError>

  private let continuation: UnsafeContinuation<Outcome, Never>
  private let isResumed = Atomic(false)

  private init(_ continuation: UnsafeContinuation<Outcome, Never>) { unsafe self.continuation = continuation }

  deinit { precondition(isResumed.load(ordering: .relaxed), "a call waits for a reply that nobody has") }

  /// Calls `body`, which must arrange for the reply, and returns what was replied.
  static func wait(_ body: (Reply) -> Void) async -> Outcome {
    await unsafe withUnsafeContinuation { unsafe body(Reply($0)) }
  }

  func resume(returning outcome: Outcome) {
    let isSecond = isResumed.exchange(true, ordering: .relaxed)
    precondition(!isSecond, "a call has been replied to before")
    unsafe continuation.resume(returning: outcome)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The reply to a waiting call. The process stops if the call is resumed twice, or never.
///
/// This type replaces `CheckedContinuation`, which only warns if it is never resumed. Also, the layout of a
/// `CheckedContinuation` is known only at run time, so copying values that contain one is slow. Such copies
/// would take an eighth of the time of an `ask`.
@safe final class Reply<Value: Sendable>: Sendable {
  typealias Outcome = Result<Value, TribuneError>

  private let continuation: UnsafeContinuation<Outcome, Never>
  private let isResumed = Atomic(false)

  private init(_ continuation: UnsafeContinuation<Outcome, Never>) { unsafe self.continuation = continuation }

  deinit { precondition(isResumed.load(ordering: .relaxed), "a waiting call was never resumed") }

  static func wait(_ begin: (Reply) throws(TribuneError) -> Value?) async -> Outcome {
    await unsafe withUnsafeContinuation { continuation in
      let reply = unsafe Reply(continuation)
      do throws(TribuneError) {
        if let value = try begin(reply) { reply.resume(returning: .success(value)) }
      } catch {
        reply.resume(returning: .failure(error))
      }
    }
  }

  static func wait(
    isolation: isolated (any Actor)? = #isolation, _ begin: (Reply) throws(TribuneError) -> Value?,
    onCancel cancel: @Sendable () -> Void
  ) async -> Outcome {
    await withTaskCancellationHandler {
      // This line makes the closure run on the caller's actor. Without it, the closure would run on one of
      // Swift's threads, which would then have to wake that actor.
      _ = isolation
      return await wait { reply throws(TribuneError) in
        let value = try begin(reply)
        // The cancellation handler may have run before `begin` stored the reply.
        if value == nil, Task.isCancelled { cancel() }
        return value
      }
    } onCancel: {
      cancel()
    }
  }

  func resume(returning outcome: Outcome) {
    let isSecond = isResumed.exchange(true, ordering: .relaxed)
    precondition(!isSecond, "a waiting call was resumed twice")
    unsafe continuation.resume(returning: outcome)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How long a hold lasts: what the link and the `Hold` that was given out share of it.
final class HoldTerm: Sendable {
  private struct State {
    /// Set once: whether it expired.
    var hasExpired: Bool?
    var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
    var lastWaiter: UInt64 = 0
  }

  /// The moment at which it ends, on the host's monotonic clock; 0 for never.
  let expiry: UInt64
  /// The hold's id, which is another over another connection.
  let id = Atomic<UInt64>(0)
  private let state = Mutex(State())

  init(expiry: UInt64) { self.expiry = expiry }

  func end(expired: Bool) {
    let waiters = state.withLock { state -> [CheckedContinuation<Bool, Never>] in
      guard state.hasExpired == nil else { return [] }
      state.hasExpired = expired
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: expired) }
  }

  /// Returns when the hold has ended: whether it expired. False when the task is cancelled.
  func expired() async -> Bool {
    let id = state.withLock { state -> UInt64 in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let ready = state.withLock { state -> Bool? in
          if let hasExpired = state.hasExpired { return hasExpired }
          if Task.isCancelled { return false }
          state.waiters[id] = waiter
          return nil
        }
        if let ready { waiter.resume(returning: ready) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

final class HoldTerm: Sendable {
  private struct State {
    var hasExpired: Bool?
    var waiters: [UInt64: Reply<Bool>] = [:]
    var lastWaiter: UInt64 = 0
  }

  /// Nanoseconds of the host's monotonic clock; 0 for never.
  let expiry: UInt64
  /// The epoch of the connection, if the hold was its last frame.
  let lastEpoch: Int?
  let id = Atomic<UInt64>(0)
  private let state = Mutex(State())

  init(expiry: UInt64, lastEpoch: Int? = nil) { (self.expiry, self.lastEpoch) = (expiry, lastEpoch) }

  func end(expired: Bool) {
    let waiters = state.withLock { state -> [Reply<Bool>] in
      guard state.hasExpired == nil else { return [] }
      state.hasExpired = expired
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: .success(expired)) }
  }

  /// False after another end, and on cancellation.
  func expired() async -> Bool {
    let id = state.withLock { state -> UInt64 in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let outcome = await Reply<Bool>.wait { waiter in
      state.withLock { state -> Bool? in
        if state.hasExpired == nil { state.waiters[id] = waiter }
        return state.hasExpired
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: .success(false))
    }
    return outcome == .success(true)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// The state of a hold in this process, with the calls that wait for a change of this state.
final class HoldTerm: Sendable {
  private struct State {
    /// Nil until the hold has ended.
    var hasExpired: Bool?
    var waiters: [UInt64: Reply<Bool>] = [:]
    /// The callers that wait in `settled()`.
    var settling: [UInt64: Reply<Bool>] = [:]
    var lastWaiter: UInt64 = 0
  }

  /// The moment of the expiry that the program wants, in nanoseconds of the host's monotonic clock; 0 for
  /// never.
  private let wanted: UInt64
  /// Like `wanted`, but as the bus has confirmed it: perhaps earlier.
  private let confirmed: Atomic<UInt64>
  /// The epoch (`LinkState.epoch`) of the socket on which the hold was the last frame (`isLast`). Nil if the
  /// connection may send further frames.
  let lastEpoch: Int?
  let id = Atomic<UInt64>(0)
  /// The number of actions under way for which the hold came too late.
  let late = Atomic<Int>(0)
  private let state = Mutex(State())

  init(expiry: UInt64, lastEpoch: Int? = nil) {
    (wanted, self.lastEpoch) = (expiry, lastEpoch)
    confirmed = Atomic(expiry)
  }

  var expiry: UInt64 { confirmed.load(ordering: .relaxed) }

  var expiresIn: Duration? {
    let (expiry, now) = (expiry, SystemClock.monotonicNanoseconds)
    return expiry == 0 ? nil : .nanoseconds(Int64(clamping: expiry - min(now, expiry)))
  }

  var isShortened: Bool { expiry != wanted }

  func begin(id: UInt64, late: Int, expiry: UInt64) {
    self.id.store(id, ordering: .relaxed)
    confirmed.store(expiry, ordering: .relaxed)
    setLate(late)
  }

  func setLate(_ count: Int) {
    late.store(count, ordering: .relaxed)
    if count == 0 { resumeSettling(isSettled: true) }
  }

  func end(expired: Bool) {
    let waiters = state.withLock { state -> [Reply<Bool>] in
      guard state.hasExpired == nil else { return [] }
      state.hasExpired = expired
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: .success(expired)) }
    resumeSettling(isSettled: false)
  }

  private func resumeSettling(isSettled: Bool) {
    let waiters = state.withLock { state in
      defer { state.settling = [:] }
      return Array(state.settling.values)
    }
    for waiter in waiters { waiter.resume(returning: .success(isSettled)) }
  }

  /// Waits until the hold ends, or the task is cancelled. Returns true if the hold has expired.
  func expired() async -> Bool {
    await wait(in: \.waiters) { state in state.hasExpired }
  }

  /// Waits for the end of the actions for which the hold came too late. Returns false if the hold ended
  /// before these actions, or if the task was cancelled.
  func settled() async -> Bool {
    await wait(in: \.settling) { [self] state in
      if state.hasExpired != nil { false } else { late.load(ordering: .relaxed) == 0 ? true : nil }
    }
  }

  private func wait(
    in waiters: any WritableKeyPath<State, [UInt64: Reply<Bool>]> & Sendable,
    outcome: @Sendable (State) -> Bool?
  ) async -> Bool {
    let id = state.withLock { state -> UInt64 in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let outcome = await Reply<Bool>.wait { waiter in
      state.withLock { state -> Bool? in
        let known = outcome(state)
        if known == nil { state[keyPath: waiters][id] = waiter }
        return known
      }
    } onCancel: {
      state.withLock { $0[keyPath: waiters].removeValue(forKey: id) }?.resume(returning: .success(false))
    }
    return outcome == .success(true)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune

/// Whether a connection's bus is reachable, according to the connection's events.
final class BusPresence: Sendable {
  private struct State {
    /// When the bus was last found; nil while the connection looks for it, and after the search has failed.
    var since: ContinuousClock.Instant? = .now
    /// When the clients of a bus that knew nothing of them are all back; nil if there was no such bus.
    var settledAt: ContinuousClock.Instant?
  }

  private let state = Mutex(State())
  private let settling: Duration

  /// - Parameter settling: how long clients may take to come back to a bus that knows nothing of them. Between two
  ///   attempts, they pause for a second at most.
  init(settling: Duration = .seconds(5)) { self.settling = settling }

  var isUnreachable: Bool { state.withLock { $0.since == nil } }

  /// Whether all holds and delegates that a lost bus had are in force again.
  var isSettled: Bool { state.withLock { $0.settledAt.map { $0 <= .now } ?? true } }

  func note(_ event: ConnectionEvent) {
    state.withLock {
      switch event {
      case .disconnected: $0.since = nil
      case .reconnected(let lost):
        $0.since = .now
        if lost == nil { $0.settledAt = .now.advanced(by: settling) }
      }
    }
  }

  /// Returns once it is settled, or when the task is cancelled.
  func settled() async {
    while !Task.isCancelled, let moment = state.withLock({ $0.settledAt }), moment > .now {
      await sleep(ContinuousClock.now.duration(to: moment))
    }
  }

  /// Returns when the bus has been reachable for `limit` from now on without a break, or when the task is cancelled.
  func uninterrupted(for limit: Duration) async {
    let start = ContinuousClock.now
    while !Task.isCancelled {
      // While the bus is unreachable, the limit does not run.
      let left = state.withLock { state in
        state.since.map { limit - max($0, start).duration(to: .now) } ?? limit
      }
      guard left > .zero else { return }
      await sleep(left)
    }
  }
}

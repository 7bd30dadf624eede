// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune

/// Tracks whether a bus is reachable, by the events of a connection.
final class BusPresence: Sendable {
  private struct State {
    /// When the bus became reachable; nil while it is unreachable.
    var since: ContinuousClock.Instant? = .now
    /// When clients have had time to return to a bus that lost its state; nil if no bus lost its state.
    var settledAt: ContinuousClock.Instant?
  }

  /// The time that clients get to return to a bus that lost its state. Clients try at least once a second.
  static let settling = Duration.seconds(5)

  private let state = Mutex(State())
  private let settling: Duration

  init(settling: Duration = settling) { self.settling = settling }

  var isUnreachable: Bool { state.withLock { $0.since == nil } }

  /// False while clients may still be returning, with holds and delegates, to a bus that lost its state.
  var isSettled: Bool { state.withLock { $0.settledAt.map { $0 <= .now } ?? true } }

  func update(for event: ConnectionEvent) {
    state.withLock {
      switch event {
      case .disconnected: $0.since = nil
      case .reconnected(let lost):
        $0.since = .now
        if lost == nil { $0.settledAt = .now.advanced(by: settling) }
      }
    }
  }

  func waitUntilSettled() async {
    while !Task.isCancelled, let moment = state.withLock({ $0.settledAt }), moment > .now {
      await sleep(ContinuousClock.now.duration(to: moment))
    }
  }

  /// Waits until the bus has been reachable for `limit` without interruption, counted from this call at the
  /// earliest. Also returns if the task is cancelled.
  func uninterrupted(for limit: Duration) async {
    let start = ContinuousClock.now
    while !Task.isCancelled {
      let left = state.withLock { state in
        state.since.map { limit - max($0, start).duration(to: .now) } ?? limit
      }
      guard left > .zero else { return }
      await sleep(left)
    }
  }
}

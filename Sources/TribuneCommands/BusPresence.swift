// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune

/// Whether a connection's bus is reachable, according to the connection's events.
final class BusPresence: Sendable {
  /// When the bus was last found; nil while the connection looks for it, and after the search has failed.
  private let since = Mutex<ContinuousClock.Instant?>(.now)

  var isUnreachable: Bool { since.withLock { $0 == nil } }

  func note(_ event: ConnectionEvent) {
    since.withLock {
      switch event {
      case .disconnected: $0 = nil
      case .reconnected: $0 = .now
      }
    }
  }

  /// Returns when the bus has been reachable for `limit` from now on without a break, or when the task is cancelled.
  func uninterrupted(for limit: Duration) async {
    let start = ContinuousClock.now
    while !Task.isCancelled {
      // While the bus is unreachable, the limit does not run.
      let left = since.withLock { since in
        since.map { limit - max($0, start).duration(to: .now) } ?? limit
      }
      guard left > .zero else { return }
      await sleep(left)
    }
  }
}

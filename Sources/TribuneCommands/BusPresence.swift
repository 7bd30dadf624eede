// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune

/// Whether the bus of a connection is there, as far as the connection has told.
final class BusPresence: Sendable {
  /// Since when it is there; nil while it is looked for, and after it was looked for in vain.
  private let since = Mutex<ContinuousClock.Instant?>(.now)

  var isAway: Bool { since.withLock { $0 == nil } }

  func note(_ event: ConnectionEvent) {
    since.withLock {
      switch event {
      case .disconnected: $0 = nil
      case .reconnected: $0 = .now
      }
    }
  }

  /// Returns when the bus has been there for so long without a break, from now on; or when the task is cancelled.
  func whole(_ limit: Duration) async {
    let start = ContinuousClock.now
    while !Task.isCancelled {
      // Where it is away, it has not been there for the limit before that is over once more.
      let left = since.withLock { since in
        since.map { limit - max($0, start).duration(to: .now) } ?? limit
      }
      guard left > .zero else { return }
      await sleep(left)
    }
  }
}

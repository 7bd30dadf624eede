// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tracks how long a hold stands, for the report of a reconnection.
final class HoldStanding: Sendable {
  private enum Term {
    case notStarted
    /// Nil for no end.
    case until(ContinuousClock.Instant?)
  }

  private let term = Mutex(Term.notStarted)

  func begin(for span: Duration?) {
    term.withLock { $0 = .until(span.map { ContinuousClock.now.advanced(by: $0) }) }
  }

  /// - Parameter lost: notifications missed; nil if the bus did not know the connection, and so not the hold.
  func consequence(losing lost: UInt64?) -> String {
    switch term.withLock({ $0 }) {
    case .notStarted: ""
    case .until(let end?) where end <= .now: ""
    case .until:
      lost == nil
        ? "; the hold is in force again, but may have been interrupted"
        : "; the hold was in force all the time"
    }
  }
}

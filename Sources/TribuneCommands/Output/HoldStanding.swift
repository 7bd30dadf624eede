// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tracks how long a hold stands, so that the report of a reconnection can say what became of it.
final class HoldStanding: Sendable {
  private enum Term {
    case notBegun
    /// Nil for no end.
    case until(ContinuousClock.Instant?)
  }

  private let term = Mutex(Term.notBegun)

  func begin(for span: Duration?) {
    term.withLock { $0 = .until(span.map { ContinuousClock.now.advanced(by: $0) }) }
  }

  /// - Parameter lost: notifications missed; nil if the bus did not know the connection, and so not the hold.
  func consequence(losing lost: UInt64?) -> String {
    switch term.withLock({ $0 }) {
    case .notBegun: ""
    case .until(let end?) where end <= .now: ""
    case .until:
      lost == nil
        ? "; the hold stands again, and may not have for a moment" : "; the hold has stood all the time"
    }
  }
}

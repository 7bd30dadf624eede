// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Until when a hold stands that was taken, for who says what became of it when the bus was away.
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

  /// - Parameter lost: what the connection missed; nil when the bus knew nothing of it, and so not of the hold.
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

// SPDX-License-Identifier: Apache-2.0

import Synchronization

final class HoldStanding: Sendable {
  private enum Term {
    case notStarted
    /// The time of expiry; nil if the holds do not expire.
    case until(ContinuousClock.Instant?)
  }

  private let term = Mutex(Term.notStarted)

  func begin(for span: Duration?) {
    term.withLock { $0 = .until(span.map { ContinuousClock.now.advanced(by: $0) }) }
  }

  /// The remaining time, which is negative after the expiry; nil if the holds do not expire.
  var left: Duration? {
    guard case .until(let end?) = term.withLock({ $0 }) else { return nil }
    return ContinuousClock.now.duration(to: end)
  }

  var isOver: Bool { left.map { $0 <= .zero } ?? false }

  /// - Parameter lost: the number of missed notifications; nil if the bus did not know the connection.
  func consequence(losing lost: UInt64?) -> String {
    if case .notStarted = term.withLock({ $0 }) { return "" }
    if isOver { return "" }
    return lost == nil
      ? "; the hold is in force again, but may have been interrupted"
      : "; the hold was in force all the time"
  }
}

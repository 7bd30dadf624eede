// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The times at which the holds of a `tribunectl hold` expire, in the order of its targets.
final class HoldStanding: Sendable {
  private struct End {
    /// nil if the hold does not expire.
    var time: ContinuousClock.Instant?
    var isShortened = false
  }

  /// Empty before the first hold.
  private let ends = Mutex<[End]>([])

  func begin(_ count: Int, for span: Duration?) {
    let end = End(time: span.map { ContinuousClock.now.advanced(by: $0) })
    ends.withLock { $0 = Array(repeating: end, count: count) }
  }

  /// The bus ends the hold after `left`, earlier than wanted.
  func shorten(_ index: Int, to left: Duration?) {
    let end = End(time: left.map { ContinuousClock.now.advanced(by: $0) }, isShortened: true)
    ends.withLock { $0[index] = end }
  }

  func isShortened(_ index: Int) -> Bool { ends.withLock { $0[index].isShortened } }

  /// The remaining time of a hold, which is negative after the expiry; nil if it does not expire.
  func left(of index: Int) -> Duration? {
    ends.withLock { $0[index].time }.map { ContinuousClock.now.duration(to: $0) }
  }

  /// The remaining time until all holds have expired; nil if one of them does not expire.
  var left: Duration? {
    let times = ends.withLock { $0.map(\.time) }
    guard let last = times.compactMap(\.self).max(), !times.contains(nil) else { return nil }
    return ContinuousClock.now.duration(to: last)
  }

  var isOver: Bool { left.map { $0 <= .zero } ?? false }

  /// - Parameter lost: the number of missed notifications; nil if the bus did not know the connection.
  func consequence(losing lost: UInt64?) -> String {
    if ends.withLock(\.isEmpty) || isOver { return "" }
    return lost == nil
      ? "; the hold is in force again, but may have been interrupted"
      : "; the hold was in force all the time"
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Limits how many signals of one rule are posted within a second, and how many wait for a bus that does not answer.
/// Counts the others.
nonisolated package struct SignalBudget {
  package static let perSecond = 20
  package static let waitingMax = 100

  private var secondBegan: ContinuousClock.Instant?
  private var count = 0
  private var omitted = 0
  private var waiting = 0

  package init() {}

  /// Counts a signal. If it is not left out, `finish()` must follow.
  ///
  /// - Returns: how many were left out since the last one that was not; nil if this one is left out, too.
  package mutating func admit(at now: ContinuousClock.Instant) -> Int? {
    if secondBegan.map({ now - $0 >= .seconds(1) }) ?? true { (secondBegan, count) = (now, 0) }
    guard count < Self.perSecond, waiting < Self.waitingMax else {
      omitted += 1
      return nil
    }
    count += 1
    waiting += 1
    defer { omitted = 0 }
    return omitted
  }

  /// A signal that was admitted does not wait any more.
  package mutating func finish() { waiting -= 1 }
}

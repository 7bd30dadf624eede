// SPDX-License-Identifier: Apache-2.0

/// Limits how many signals of one rule the bridge posts in a second, and how many posts wait for the bus.
nonisolated package struct SignalBudget {
  package static let perSecond = 20
  package static let waitingMax = 100

  private var secondBegan: ContinuousClock.Instant?
  private var count = 0
  private var omitted = 0
  private var waiting = 0

  package init() {}

  /// Decides whether to post a signal. Returns nil if the caller must drop the signal. Otherwise, returns how
  /// many signals were dropped since the last admitted one. After the post, the caller must call `finish()`.
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

  package mutating func finish() { waiting -= 1 }
}

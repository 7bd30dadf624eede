// SPDX-License-Identifier: Apache-2.0

package import Tribune

/// What becomes of one notification that the bus has not taken: whether it is posted again, and when.
nonisolated package struct PostRetries: Sendable {
  /// The bus's answers that do not last. After them, nobody knows whether it has posted.
  private static let passing: Set<TribuneError.Code> = [
    .connectionLost, .shuttingDown, .tooSlow, .unreachable,
  ]
  /// For so long, a notification waits for a bus that has no capacity. Others wait behind it.
  private static let fullMax = Duration.seconds(30)

  private var fullSince: ContinuousClock.Instant?

  package init() {}

  package static func isPassing(_ code: TribuneError.Code) -> Bool { passing.contains(code) }

  /// - Returns: how long to wait before it is posted again; nil if it is lost.
  package mutating func pause(after code: TribuneError.Code, at now: ContinuousClock.Instant) -> Duration? {
    // A connection that has ended is known as such in a moment.
    if Self.isPassing(code) { return .milliseconds(100) }
    guard code == .limitExceeded else { return nil }
    let since = fullSince ?? now
    fullSince = since
    return now - since < Self.fullMax ? .seconds(1) : nil
  }
}

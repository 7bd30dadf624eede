// SPDX-License-Identifier: Apache-2.0

/// How long a connection's posts pause at most for a slow observer. If the observer is still slow after that,
/// it loses notifications.
public enum Pace: Equatable, Sendable {
  /// The bus's setting, 100 ms by default (`PaceMaxSec=`).
  case setting
  /// At most this time, clamped to the range from 1 ms to ``longest``.
  case upTo(Duration)
  /// No limit. If an observer never reads, the posts of this connection stop for ever.
  case unlimited

  public static let longest = Duration.milliseconds(UInt16.max - 1)

  /// The value in a `pace` frame: milliseconds, 0 for the bus's setting, or `UInt16.max` for no limit.
  var limit: UInt16 {
    switch self {
    case .setting: 0
    case .upTo(let span): UInt16(clamping: max(Int(min(span, Self.longest) / .milliseconds(1)), 1))
    case .unlimited: .max
    }
  }
}

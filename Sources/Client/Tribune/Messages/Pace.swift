// SPDX-License-Identifier: Apache-2.0

/// The longest pause of a connection's posts for a slow observer, which then loses notifications.
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

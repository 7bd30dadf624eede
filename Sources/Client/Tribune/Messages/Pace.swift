// SPDX-License-Identifier: Apache-2.0

/// How long the bus may pause a connection's posts for a slow observer. Afterwards, the observer loses notifications.
public enum Pace: Equatable, Sendable {
  /// The bus's setting, 100 ms by default (`PaceMaxSec=`).
  case setting
  /// At most this time, clamped to the range from 1 ms to ``longest``.
  case upTo(Duration)
  /// Without a limit. An observer that never reads stops the posts of this connection for ever.
  case unlimited

  public static let longest = Duration.milliseconds(UInt16.max - 1)

  /// The limit as in `pace` frames: milliseconds, 0 for the bus's setting, or the maximum for no limit.
  var limit: UInt16 {
    switch self {
    case .setting: 0
    case .upTo(let span): UInt16(clamping: max(Int(min(span, Self.longest) / .milliseconds(1)), 1))
    case .unlimited: .max
    }
  }
}

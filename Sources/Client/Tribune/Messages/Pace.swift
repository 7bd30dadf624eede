// SPDX-License-Identifier: Apache-2.0

/// How long the bus may pause a connection's posts for a slow observer. Afterwards, the observer loses notifications.
public enum Pace: Equatable, Sendable {
  /// As the bus is configured: 100 ms by default (`PaceMaxSec=`).
  case setting
  /// Up to ``longest``; longer spans are shortened to it.
  case upTo(Duration)
  /// As long as it takes. An observer that never reads stops the posts of this connection for ever.
  case unlimited

  public static let longest = Duration.milliseconds(UInt16.max - 1)

  /// In milliseconds, as `pace` frames have it.
  var limit: UInt16 {
    switch self {
    case .setting: 0
    case .upTo(let span): UInt16(clamping: max(Int(min(span, Self.longest) / .milliseconds(1)), 1))
    case .unlimited: .max
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Options of a post beyond plain delivery.
///
/// The terms are those of Cocoa's NSNotificationQueue and NSDistributedNotificationCenter. By default, a notification
/// is delivered now, to all that observe it and have not suspended themselves.
public struct PostOptions: Hashable, Sendable {
  /// When the bus delivers a notification.
  ///
  /// Notifications of one style keep their order. Styles do not wait for each other: a notification with ``now``
  /// overtakes those that wait.
  public enum Style: String, Hashable, Sendable, CaseIterable {
    /// When the bus reads it.
    case now
    /// At the end of the event loop iteration in which the bus reads it, before anything is written.
    case asap
    /// When the bus's event loop has nothing else to do, and after 1 s at the latest.
    case idle
  }

  /// Which waiting notifications a new one replaces.
  ///
  /// The bus looks among those of the same *user*, from any connection and in any style. With both options, both must
  /// be equal.
  public struct Coalescing: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let name = Coalescing(rawValue: 1)
    public static let object = Coalescing(rawValue: 2)
  }

  public var style: Style
  /// Which waiting notifications it replaces; it takes the last place itself.
  ///
  /// With the style ``Style/now``, it removes those that wait and match, and is itself delivered at once. What is
  /// replaced is not a loss, and is not reported. When more than 1 MiB waits on the bus, it delivers the oldest early
  /// instead of keeping them for coalescing.
  public var coalescing: Coalescing
  /// Whether the bus retains it, as the last of its name and object, for observers with `retained`.
  ///
  /// It is delivered as well. Without userInfo, it clears the retained one. It is retained until it is cleared, until
  /// the next of its name and object, or until the bus ends.
  public var isRetained: Bool
  /// Whether suspended connections receive it, too: after what the bus has buffered for them, which it delivers first.
  public var isImmediate: Bool

  /// Makes options; the defaults are plain delivery.
  public init(
    style: Style = .now, coalescing: Coalescing = [], isRetained: Bool = false, isImmediate: Bool = false
  ) {
    self.style = style
    self.coalescing = coalescing
    self.isRetained = isRetained
    self.isImmediate = isImmediate
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Options of a post beyond plain delivery.
///
/// The terms come from Cocoa's NSNotificationQueue and NSDistributedNotificationCenter. By default, the bus delivers a
/// notification at once to all observers that are not suspended.
public struct PostOptions: Hashable, Sendable {
  /// When the bus delivers a notification.
  ///
  /// Notifications of one style keep their order. A notification with ``now`` overtakes waiting ones.
  public enum Style: String, Hashable, Sendable, CaseIterable {
    /// When the bus reads it.
    case now
    /// At the end of the event loop iteration in which the bus reads it, before anything is written.
    case asap
    /// When the bus's event loop is idle, and after 1 s at the latest.
    case idle
  }

  /// Which waiting notifications a new one replaces.
  ///
  /// The bus compares waiting notifications of the same *user*, from any connection and in any style. With both
  /// options, both name and object must be equal.
  public struct Coalescing: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let name = Coalescing(rawValue: 1)
    public static let object = Coalescing(rawValue: 2)
  }

  public var style: Style
  /// Which waiting notifications this one replaces. It is queued last.
  ///
  /// With the style ``Style/now``, this notification is delivered at once, and those that it replaces are removed.
  /// Replaced notifications are not reported as lost. When more than 1 MiB of notifications waits, the bus delivers the
  /// oldest early.
  public var coalescing: Coalescing
  /// The bus retains it, as the last of its name and object, for observers with `retained`.
  ///
  /// Present observers receive it as usual. It is retained until the next retained one of its name and object, or until
  /// the bus ends. Without userInfo, it clears the retained one.
  public var isRetained: Bool
  /// With ``isRetained``: the bus removes it when this connection has ended for good, by ``Connection/close()`` or
  /// with the process, and observers get the notification without userInfo. Restarts of the bus do not end it.
  public var isBound: Bool
  /// Suspended connections receive it also, after their buffered notifications.
  public var isImmediate: Bool

  /// The defaults are plain delivery.
  public init(
    style: Style = .now, coalescing: Coalescing = [], isRetained: Bool = false, isBound: Bool = false,
    isImmediate: Bool = false
  ) {
    self.style = style
    self.coalescing = coalescing
    self.isRetained = isRetained
    self.isBound = isBound
    self.isImmediate = isImmediate
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Options of a post beyond plain delivery.
///
/// The terms come from Cocoa's NSNotificationQueue and NSDistributedNotificationCenter. By default, the bus delivers a
/// notification at once to all observers that are not suspended.
public struct PostOptions: Hashable, Sendable {
  /// The time at which the bus delivers a notification.
  ///
  /// Notifications of one style keep their order. A notification with ``now`` overtakes waiting ones.
  public enum Style: String, Hashable, Sendable, CaseIterable {
    /// The bus delivers the notification as soon as it has read it.
    case now
    /// The bus delivers the notification at the end of the event loop iteration, before the bus writes anything.
    case asap
    /// The bus delivers the notification when its event loop is idle, and after 1 s at the latest.
    case idle
  }

  /// The choice of waiting notifications that a new one replaces.
  ///
  /// A notification replaces only notifications of the same *user*, from any connection and in any style. With both
  /// options, both name and object must be equal.
  public struct Coalescing: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let name = Coalescing(rawValue: 1)
    public static let object = Coalescing(rawValue: 2)
  }

  public var style: Style
  /// The choice of waiting notifications that this one replaces. This notification goes to the end of the queue.
  ///
  /// With the style ``Style/now``, the bus delivers this notification at once, and removes the replaced ones. It does
  /// not report these as lost. When more than 1 MiB of notifications waits, the bus delivers the oldest early.
  public var coalescing: Coalescing
  /// True to retain the notification as the last of its name and object, for observers with `retained`.
  ///
  /// Present observers receive the notification as usual. The bus retains it until a retained notification of the same
  /// name and object replaces it, or until the bus ends. A notification without userInfo clears the retained one.
  public var isRetained: Bool
  /// With ``isRetained``: true to remove the notification when this connection has ended for good, by
  /// ``Connection/close()`` or with the process. Observers then get the notification without userInfo. A restart of the
  /// bus does not remove it.
  public var isBound: Bool
  /// True to deliver the notification to suspended connections also, after their buffered notifications.
  public var isImmediate: Bool

  /// Makes options; the defaults mean plain delivery.
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

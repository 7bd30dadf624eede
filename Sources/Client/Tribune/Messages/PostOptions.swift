// SPDX-License-Identifier: Apache-2.0

/// Options of a post beyond plain delivery.
///
/// The terms come from Cocoa's NSNotificationQueue and NSDistributedNotificationCenter. By default, the bus
/// delivers a notification at once to all observers that are not suspended.
public struct PostOptions: Hashable, Sendable {
  /// The time at which the bus delivers a notification.
  ///
  /// Notifications of one style keep their order. Notifications with ``now`` overtake waiting ones.
  public enum Style: String, Hashable, Sendable, CaseIterable {
    /// The bus delivers the notification when it reads the post.
    case now
    /// The bus delivers the notification at the end of the event loop iteration in which it reads the post.
    case asap
    /// The bus delivers the notification when its event loop is idle, and after 1 s at the latest.
    case idle
  }

  /// The properties by which a new notification replaces waiting ones. All chosen properties must be equal.
  ///
  /// A notification replaces only notifications of the same *user*, from any connection and in any style.
  public struct Coalescing: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let name = Coalescing(rawValue: 1)
    public static let object = Coalescing(rawValue: 2)
  }

  public var style: Style
  /// Chooses the waiting notifications that this one replaces. This one does not take their place: it goes to
  /// the end of the queue of its own style.
  ///
  /// With the style ``Style/now``, the bus delivers this notification at once, and removes the replaced ones
  /// without reporting a loss. Beyond 1 MiB of waiting notifications, the bus delivers the oldest early.
  public var coalescing: Coalescing
  /// True to retain the notification as the last of its name and object, for later observers with `retained`.
  ///
  /// Present observers also receive the notification. The bus retains the notification until another retained
  /// one of the same name and object replaces it, or until the bus stops without a restart. A retained
  /// notification without userInfo removes the one of its name and object.
  public var isRetained: Bool
  /// With ``isRetained``: true to remove the notification when this connection ends for good, by
  /// ``Connection/close()`` or with the process. Observers then get the notification again, without userInfo.
  /// The notification survives a restart of the bus.
  public var isBound: Bool
  /// True to deliver the notification to suspended connections too, after their buffered notifications.
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

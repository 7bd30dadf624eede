// SPDX-License-Identifier: Apache-2.0

/// What a poster wants done with a notification, beyond having it delivered.
///
/// The words are those of Cocoa's NSNotificationQueue and NSDistributedNotificationCenter. Without any of
/// this a notification is delivered now, to all that observe it and have not suspended themselves.
public struct PostOptions: Hashable, Sendable {
  /// When the bus delivers a notification.
  ///
  /// Notifications of one style keep their order. A style does not wait for another: what is posted with
  /// ``now`` overtakes what waits.
  public enum Style: String, Hashable, Sendable, CaseIterable {
    /// As the bus reads it.
    case now
    /// At the end of the pass of the bus's run loop that read it, before anything is written.
    case asap
    /// When the bus's run loop has nothing else to do, and after 1 s at the latest.
    case idle
  }

  /// What waiting notifications a new one takes the place of.
  ///
  /// Looked at is what the same *user* has waiting, over whichever connections and in whichever style. With
  /// both, both have to be the same.
  public struct Coalescing: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set of its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Those of the same name.
    public static let name = Coalescing(rawValue: 1)
    /// Those about the same object.
    public static let object = Coalescing(rawValue: 2)
  }

  /// When it is delivered.
  public var style: Style
  /// Whom it takes the place of among those that wait; it takes the last place itself.
  ///
  /// With the style ``Style/now`` it takes back what waits and matches, and is itself delivered at once.
  /// What is taken back is no loss, and nobody is told. When the bus has more than 1 MiB waiting, the
  /// oldest is delivered early instead of being kept for coalescing.
  public var coalescing: Coalescing
  /// Whether the bus keeps it, as the last of its name and object, for those who observe with `retained`.
  ///
  /// It is delivered as well. Without userInfo it clears what was kept. What is kept lasts until then,
  /// until the next of its name and object, or until the bus ends.
  public var isRetained: Bool
  /// Whether suspended connections receive it, too: behind what the bus holds for them, which is delivered
  /// first.
  public var isImmediate: Bool

  /// Makes options; those that are left out are the plain ones.
  public init(
    style: Style = .now, coalescing: Coalescing = [], isRetained: Bool = false, isImmediate: Bool = false
  ) {
    self.style = style
    self.coalescing = coalescing
    self.isRetained = isRetained
    self.isImmediate = isImmediate
  }
}

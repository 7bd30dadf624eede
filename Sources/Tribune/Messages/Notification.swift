// SPDX-License-Identifier: Apache-2.0

/// A message that only informs: its poster neither knows nor waits for its observers, but for those that
/// observe it as awaited.
///
/// Two are equal when they say the same; whether one is awaited plays no part in that.
public struct Notification: Hashable, Sendable {
  /// What it says: `window.willClose`.
  public var name: String
  /// What it is about: `window/42`; empty if about nothing in particular.
  public var object: String
  /// The connection that posted it, `:N`, stamped by the bus; nil for the bus itself.
  public var sender: String?
  /// What came with it.
  public var userInfo: UserInfo
  /// It was posted before it was observed, and came because the observation wanted what is retained.
  public var isRetained: Bool
  /// How to say that what it waits for is done; nil unless its poster waits for this observation.
  ///
  /// Copies of the notification share it. A poster waits for those that observe with `awaited`; what a
  /// delegate receives is never awaited.
  public internal(set) var acknowledgement: Acknowledgement?

  /// Makes a notification as if it had been received, which tests of observers want.
  public init(
    _ name: String, object: String = "", sender: String? = nil, userInfo: UserInfo = .none,
    isRetained: Bool = false
  ) {
    self.name = name
    self.object = object
    self.sender = sender
    self.userInfo = userInfo
    self.isRetained = isRetained
  }

  /// Whether two say the same.
  public static func == (one: Notification, other: Notification) -> Bool {
    one.name == other.name && one.object == other.object && one.sender == other.sender
      && one.userInfo == other.userInfo && one.isRetained == other.isRetained
  }

  /// Hashes what it says.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(object)
    hasher.combine(sender)
    hasher.combine(userInfo)
    hasher.combine(isRetained)
  }
}

/// What an observer receives next: a notification, or the news that it has missed some.
public enum Delivery: Hashable, Sendable {
  /// A notification, in its poster's order.
  case notification(Notification)
  /// So many notifications were dropped at this place in the stream because they were not read in time, or
  /// because too much was held while the connection was suspended.
  ///
  /// Those that the bus dropped were counted for the connection as a whole, so that not all of them need
  /// have matched this observation.
  case lost(Int)
  /// The connection was interrupted at this place in the stream, and how many notifications were missed nobody
  /// knows: none, or some. Where the bus can say, ``lost(_:)`` is what comes, if anything was missed at all.
  case interrupted
}

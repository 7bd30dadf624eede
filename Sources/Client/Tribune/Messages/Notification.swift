// SPDX-License-Identifier: Apache-2.0

/// A message that informs. Its poster does not know its observers, and waits for them only if both sides chose so.
///
/// Notifications with equal contents are equal; acknowledgements are not compared.
public struct Notification: Hashable, Sendable {
  /// Such as `window.willClose`.
  public var name: String
  /// Such as `window/42`; empty for none.
  public var object: String
  /// `:N`, stamped by the bus; nil for the bus itself.
  public var sender: String?
  /// Nil unless the connection asked for posters, and for the bus itself.
  public var poster: Poster?
  public var userInfo: UserInfo
  /// True if it was posted before the observation, which asked for retained notifications.
  public var isRetained: Bool
  /// Reports that the observer is done; nil unless the poster waits for this observation.
  ///
  /// Copies of the notification share it. Posters wait only for observations with `awaited`, never for delegates.
  public internal(set) var acknowledgement: Acknowledgement?

  /// For tests.
  public init(
    _ name: String, object: String = "", sender: String? = nil, poster: Poster? = nil,
    userInfo: UserInfo = .none, isRetained: Bool = false
  ) {
    self.name = name
    self.object = object
    self.sender = sender
    self.poster = poster
    self.userInfo = userInfo
    self.isRetained = isRetained
  }

  public static func == (one: Notification, other: Notification) -> Bool {
    one.name == other.name && one.object == other.object && one.sender == other.sender
      && one.poster == other.poster && one.userInfo == other.userInfo
      && one.isRetained == other.isRetained
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(object)
    hasher.combine(sender)
    hasher.combine(poster)
    hasher.combine(userInfo)
    hasher.combine(isRetained)
  }
}

/// An element of an observer's sequence: a notification, or a report of missed ones.
public enum Delivery: Hashable, Sendable {
  /// One poster's notifications come in the order of its posts.
  case notification(Notification)
  /// This many notifications were dropped here: by the bus, because the connection fell behind for too long, or too many
  /// came while it was suspended; or because this process could not receive or map the file with their userInfo.
  ///
  /// The bus counts drops per connection, so this observation need not match all of them.
  case lost(Int)
  /// The connection was interrupted here, and an unknown number of notifications was missed, perhaps none. If the bus
  /// knows the number, ``lost(_:)`` comes instead, or nothing if the number is 0.
  case interrupted
}

// SPDX-License-Identifier: Apache-2.0

/// A message to observers. The poster does not know the observers. The poster waits for an observer only if
/// both the post and the observation are awaited.
///
/// Notifications with equal contents are equal; acknowledgements are not compared.
public struct Notification: Hashable, Sendable {
  /// Consecutive notifications with the same name, object and poster share a head.
  package let head: NotificationHead
  /// The notification's name, such as `window.willClose`.
  public var name: String { head.name }
  /// The notification's object, such as `window/42`; empty for none.
  public var object: String { head.object }
  /// The id that the bus gave the poster's connection, such as `:7`; nil for a post of the bus itself.
  public var sender: String? { head.sender }
  /// The poster's process. Nil for a post of the bus, or if this connection did not ask for posters.
  public var poster: Poster? { head.poster }
  public var userInfo: UserInfo
  /// True for a retained notification that was posted before the observation began.
  public var isRetained: Bool
  /// The handle for acknowledging the notification; nil unless the poster waits for this observation.
  ///
  /// Copies of the notification share the handle. Posters wait only for observations with `awaited`, never
  /// for delegates.
  public internal(set) var acknowledgement: Acknowledgement?

  /// Makes a notification, for tests.
  public init(
    _ name: String, object: String = "", sender: String? = nil, poster: Poster? = nil,
    userInfo: UserInfo = .none, isRetained: Bool = false
  ) {
    head = NotificationHead(name: name, object: object, sender: sender, poster: poster)
    self.userInfo = userInfo
    self.isRetained = isRetained
  }

  init(_ head: NotificationHead, _ userInfo: UserInfo) {
    (self.head, self.userInfo, isRetained) = (head, userInfo, false)
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

/// What a notification has beside its userInfo.
package final class NotificationHead: Sendable {
  let name: String
  let object: String
  let sender: String?
  let poster: Poster?

  init(name: String, object: String, sender: String?, poster: Poster?) {
    (self.name, self.object, self.sender, self.poster) = (name, object, sender, poster)
  }
}

/// An element of an observer's sequence, or a delivery to a delegate: a notification or a report of a loss.
public enum Delivery: Hashable, Sendable {
  /// A notification. Notifications of one poster and one posting style come in the order of posting.
  case notification(Notification)
  /// At this position, this many notifications are missing.
  ///
  /// The bus drops notifications if the client reads too slowly, or if too many wait during a suspension. The
  /// library drops a notification if it cannot receive or map the memory file with userInfo. The bus counts
  /// drops per connection, so the number can include notifications that this observation does not match.
  case lost(Int)
  /// At this position, the connection was interrupted, and missed an unknown number of notifications, perhaps
  /// none. If the bus knows the number, ``lost(_:)`` reports the number instead, unless the number is 0.
  case interrupted
}

// SPDX-License-Identifier: Apache-2.0

/// A message that only informs: its poster neither knows nor waits for its observers.
public struct Notification: Hashable, Sendable {
  /// What it says: `window.willClose`.
  public var name: String
  /// What it is about: `window/42`; empty if about nothing in particular.
  public var object: String
  /// The connection that posted it, `:N`, stamped by the bus; nil for the bus itself.
  public var sender: String?
  /// What came with it.
  public var userInfo: UserInfo

  /// Makes a notification as if it had been received, which tests of observers want.
  public init(_ name: String, object: String = "", sender: String? = nil, userInfo: UserInfo = .none) {
    self.name = name
    self.object = object
    self.sender = sender
    self.userInfo = userInfo
  }
}

/// What an observer receives next: a notification, or the news that it has missed some.
public enum Delivery: Hashable, Sendable {
  /// A notification, in its poster's order.
  case notification(Notification)
  /// So many notifications were dropped at this place in the stream because they were not read in time.
  ///
  /// Those that the bus dropped were counted for the connection as a whole, so that not all of them need
  /// have matched this observation.
  case lost(Int)
}

// SPDX-License-Identifier: Apache-2.0

/// The reply to an awaited post.
public struct AwaitedReply: Hashable, Sendable {
  /// A connection that did not acknowledge the notification.
  public struct Missing: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// The connection had not reported by the deadline.
      case timedOut
      /// The connection ended before it reported, or stopped observing before the bus sent the notification.
      case gone
      case failed
    }

    /// The connection's id, such as `:7`.
    public var connection: String
    /// See ``Asker/pid``.
    public var pid: Int32
    public var uid: UInt32
    public var process: String
    public var units: Units
    public var unit: String { units.primary }
    public var kind: Kind
    /// The reason that a failed observer gave; may be empty.
    public var reason: String
    /// The time from the post to the failure, to the connection's end, or to the deadline.
    public var elapsed: Duration

    /// Makes an entry, for tests.
    public init(
      connection: String, pid: Int32, uid: UInt32, process: String, units: Units, kind: Kind, reason: String,
      elapsed: Duration
    ) {
      self.connection = connection
      self.pid = pid
      self.uid = uid
      self.process = process
      self.units = units
      self.kind = kind
      self.reason = reason
      self.elapsed = elapsed
    }
  }

  /// The number of connections that acknowledged the notification.
  public var acknowledged: Int
  /// The connections that did not acknowledge the notification, sorted by id.
  public var missing: [Missing]

  /// Makes a reply, for tests.
  public init(acknowledged: Int, missing: [Missing] = []) {
    self.acknowledged = acknowledged
    self.missing = missing
  }
}

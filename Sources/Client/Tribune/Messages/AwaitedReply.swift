// SPDX-License-Identifier: Apache-2.0

/// The reply to an awaited post.
public struct AwaitedReply: Hashable, Sendable {
  /// A connection that is not done.
  public struct Missing: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// It had not reported by the deadline.
      case timedOut
      /// The connection ended first.
      case gone
      case failed
    }

    /// The connection, `:N`.
    public var connection: String
    /// The process, as in ``Asker``.
    public var pid: Int32
    public var uid: UInt32
    public var process: String
    public var units: Units
    public var unit: String { units.primary }
    public var kind: Kind
    /// The observer's reason; empty if none.
    public var reason: String
    /// From the post to this result.
    public var elapsed: Duration

    /// Makes a value for tests.
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

  /// The number of connections that are done.
  public var acknowledged: Int
  /// The other connections, by their ids.
  public var missing: [Missing]

  /// Makes a reply for tests.
  public init(acknowledged: Int, missing: [Missing] = []) {
    self.acknowledged = acknowledged
    self.missing = missing
  }
}

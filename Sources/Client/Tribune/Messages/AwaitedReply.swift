// SPDX-License-Identifier: Apache-2.0

/// The reply to an awaited post.
public struct AwaitedReply: Hashable, Sendable {
  /// A connection that is not done.
  public struct Missing: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// It had not reported by the deadline.
      case timedOut
      /// The connection or its observation ended first.
      case gone
      case failed
    }

    /// `:N`.
    public var connection: String
    /// See ``Asker/pid``.
    public var pid: Int32
    public var uid: UInt32
    public var process: String
    public var units: Units
    public var unit: String { units.primary }
    public var kind: Kind
    /// May be empty.
    public var reason: String
    /// From the post to this result.
    public var elapsed: Duration

    /// For tests.
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

  /// Connections that are done.
  public var acknowledged: Int
  /// The others, by their ids.
  public var missing: [Missing]

  /// For tests.
  public init(acknowledged: Int, missing: [Missing] = []) {
    self.acknowledged = acknowledged
    self.missing = missing
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Who has done what an awaited notification waits for, and who has not.
public struct AwaitedReply: Hashable, Sendable {
  /// A connection that has not done it.
  public struct Missing: Hashable, Sendable {
    /// Why it has not.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// It had said nothing at the deadline.
      case timedOut
      /// Its connection ended first.
      case gone
      /// It said that it could not.
      case failed
    }

    /// The connection, `:N`.
    public var connection: String
    /// The process, as the kernel recorded it when it connected.
    public var pid: Int32
    /// The user that the process ran as when it connected.
    public var uid: UInt32
    /// The process's name (comm), at most 15 bytes; empty when it was gone too soon to tell.
    public var process: String
    /// The systemd unit; empty if none.
    public var unit: String
    /// Why it has not done it.
    public var kind: Kind
    /// What it said about it; empty if nothing.
    public var reason: String
    /// From the post to that.
    public var elapsed: Duration

    /// Makes one as if the bus had told it, which tests of posters want.
    public init(
      connection: String, pid: Int32, uid: UInt32, process: String, unit: String, kind: Kind, reason: String,
      elapsed: Duration
    ) {
      self.connection = connection
      self.pid = pid
      self.uid = uid
      self.process = process
      self.unit = unit
      self.kind = kind
      self.reason = reason
      self.elapsed = elapsed
    }
  }

  /// How many connections have done it.
  public var acknowledged: Int
  /// The connections that have not, by their ids. Empty: all have.
  public var missing: [Missing]

  /// Makes a reply as if the bus had given it, which tests of posters want.
  public init(acknowledged: Int, missing: [Missing] = []) {
    self.acknowledged = acknowledged
    self.missing = missing
  }
}

// SPDX-License-Identifier: Apache-2.0

/// The bus of a connection, as it introduced itself.
public struct BusInfo: Hashable, Sendable {
  /// The daemon's process id.
  public var pid: Int32
  /// The daemon's version, for people.
  public var software: String
  /// The longest userInfo that it accepts in one message, in bytes.
  public var payloadMax: Int
  /// Observations that one connection may have at a time.
  public var observationsMax: Int
  /// Attachments that one connection may have at a time.
  public var delegatesMax: Int
  /// Queries that one connection may have under way at a time.
  public var queriesMax: Int
  /// The longest deadline of a query.
  public var deadlineMax: Duration
  /// The deadline of a query whose asker sets none.
  public var deadlineDefault: Duration
}

/// The status of the bus. Its counters begin at 0 when it starts.
public struct BusStatus: Hashable, Sendable {
  /// The daemon's process id.
  public var pid: Int32
  /// The daemon's version, for people.
  public var software: String
  /// The address that it listens at.
  public var address: String
  /// The time since it started.
  public var uptime: Duration
  public var connections: Int
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// Notifications that it accepted.
  public var posted: Int
  /// Copies of notifications that it delivered.
  public var delivered: Int
  /// Copies of notifications that it dropped because an observer did not read.
  public var lost: Int
  public var asked: Int
  public var vetoed: Int
  public var holds: Int
  /// Frames that the policy refused.
  public var denied: Int
  /// Frames that were refused for another reason.
  public var refused: Int
  /// The bytes of the notifications that it accepted, as frames.
  public var postedBytes: Int
  public var iterations: Int
  /// The time of a processor that its thread has used since then.
  public var busy: Duration
  /// The longest iteration in the last minute.
  public var longestIteration: Duration
  /// Bytes of its log in use.
  public var logUsed: Int
  /// Bytes that its log may use.
  public var logMax: Int
  /// Descriptors that the keeper has, or is to get; 0 without a keeper.
  public var kept: Int
}

/// One connection, as the bus sees it.
public struct ConnectionInfo: Hashable, Sendable {
  /// The connection's id, `:N`, never used again.
  public var id: String
  /// The process, as in ``Asker``.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The time since it connected.
  public var age: Duration
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// Bytes queued for it, which it has not read.
  public var queuedBytes: Int
  /// Notifications that it lost because it did not read. Continues over a restart.
  public var lost: Int
  public var posted: Int
  /// Whether the bus does not read from it at present, to let its observers catch up.
  public var isPaused: Bool
  /// Whether it does not read, and loses notifications.
  public var isLossy: Bool
  public var isSuspended: Bool
  /// Bytes that the bus buffers for it until it resumes.
  public var heldBytes: Int
  /// Notifications that later ones have replaced since it has suspended them.
  public var coalesced: Int
  /// Whether it survives a restart of the bus, as far as any connection does. If not, it ends with the bus: the bus had
  /// no space to log it, or the keeper has no copy of it yet.
  public var isSurviving: Bool
  /// The bytes of the notifications that it posted, as frames.
  public var postedBytes: Int
  /// Notifications that were queued for it. Continues over a restart.
  public var delivered: Int
  /// Its frames that the policy refused.
  public var denied: Int
  /// Its frames that were refused for another reason.
  public var refused: Int
  public var asked: Int
  /// How often it was paused.
  public var pauses: Int
  /// The time for which it was paused.
  public var pausedTime: Duration
  /// The time for which it was lossy.
  public var lossyTime: Duration
}

/// A connection that has gone in the last minute.
public struct DepartedConnectionInfo: Hashable, Sendable {
  /// The connection's id, `:N`, never used again.
  public var id: String
  /// The process, as in ``Asker``. Its id can be another's by now.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// For how long it was connected.
  public var age: Duration
  /// The time since it has gone.
  public var elapsed: Duration
  /// The name of the protocol's error with which the bus closed it, such as `tooSlow`; nil if the client has closed it,
  /// or its process has ended.
  public var closedBecause: String?
  /// Notifications that it lost because it did not read.
  public var lost: Int
  public var posted: Int
}

/// One observation, as the bus sees it.
public struct ObservationInfo: Hashable, Sendable {
  /// The connection that it belongs to, `:N`.
  public var connection: String
  /// The names that it matches; `**` or empty for any.
  public var pattern: String
  /// The object that it matches; empty for any.
  public var object: String
  /// What happens to its notifications while the connection is suspended.
  public var suspension: SuspensionBehavior
  /// Whether awaited posts wait for it.
  public var isAwaited: Bool
}

/// A retained notification: the last of its name and object that was posted to be retained.
public struct RetainedInfo: Hashable, Sendable {
  public var name: String
  /// The object that it is about; empty for none.
  public var object: String
  /// The connection that posted it, `:N`; it may have ended.
  public var connection: String
  /// The user who posted it, and whose quota it counts against.
  public var uid: UInt32
  /// The length of userInfo in bytes.
  public var byteCount: Int
  /// The time since it was posted.
  public var age: Duration
}

/// One attached delegate, as the bus sees it.
public struct DelegateInfo: Hashable, Sendable {
  /// The delegate's id, never used again.
  public var id: UInt64
  /// The connection that it belongs to, `:N`.
  public var connection: String
  /// Its label; empty if none.
  public var label: String
  /// The process, as in ``Asker``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The object that it is attached to; empty for any.
  public var object: String
  /// Its position in the chain: lower is earlier.
  public var order: Int32
  /// What its failure counts as.
  public var failurePolicy: FailurePolicy
  /// The time that it has for an answer.
  public var timeout: Duration
  /// The names that it responds to.
  public var patterns: [String]
}

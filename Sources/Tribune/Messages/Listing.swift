// SPDX-License-Identifier: Apache-2.0

/// The bus that a connection leads to, as it introduced itself.
public struct BusInfo: Hashable, Sendable {
  /// The daemon's process.
  public var pid: Int32
  /// The daemon's version, for people.
  public var software: String
  /// Bytes of userInfo that it accepts in one message.
  public var payloadMax: Int
  /// Observations that one connection may have at a time.
  public var observationsMax: Int
  /// Attachments that one connection may have at a time.
  public var delegatesMax: Int
  /// Queries that one connection may have under way at a time.
  public var queriesMax: Int
  /// The longest deadline of a query.
  public var deadlineMax: Duration
  /// The deadline of a query whose asker does not say.
  public var deadlineDefault: Duration
}

/// The bus as a whole. Counters count from its start.
public struct BusStatus: Hashable, Sendable {
  /// The daemon's process.
  public var pid: Int32
  /// The daemon's version, for people.
  public var software: String
  /// Where it listens.
  public var address: String
  /// Since it started.
  public var uptime: Duration
  /// Connections now.
  public var connections: Int
  /// Observations now.
  public var observations: Int
  /// Attached delegates now.
  public var delegates: Int
  /// Queries under way.
  public var queries: Int
  /// Notifications that it took.
  public var posted: Int
  /// Copies of notifications that it delivered.
  public var delivered: Int
  /// Copies of notifications that it dropped because an observer did not read.
  public var lost: Int
  /// Queries that were asked.
  public var asked: Int
  /// Queries that were vetoed.
  public var vetoed: Int
  /// Holds now.
  public var holds: Int
}

/// One connection, as the bus sees it.
public struct ConnectionInfo: Hashable, Sendable {
  /// The connection's id, `:N`, never used again.
  public var id: String
  /// The process, as the kernel recorded it when it connected.
  public var pid: Int32
  /// The user that the process ran as when it connected.
  public var uid: UInt32
  /// The group that the process ran as when it connected.
  public var gid: UInt32
  /// The process's name (comm), at most 15 bytes; empty when it was gone too soon to tell.
  public var process: String
  /// The systemd unit; empty if none.
  public var unit: String
  /// Since it connected.
  public var age: Duration
  /// Its observations.
  public var observations: Int
  /// Its attached delegates.
  public var delegates: Int
  /// Its queries that are not over.
  public var queries: Int
  /// Bytes that wait for it to read.
  public var queuedBytes: Int
  /// Notifications that it lost because it did not read.
  public var lost: Int
  /// Notifications that it posted.
  public var posted: Int
  /// The bus is not reading from it, to let its observers catch up.
  public var isPaused: Bool
  /// It does not read, and loses notifications.
  public var isLossy: Bool
  /// It has suspended its notifications.
  public var isSuspended: Bool
  /// Bytes that the bus holds for it until it resumes.
  public var heldBytes: Int
  /// It goes on when the bus is restarted, as far as any connection does. Where it does not, the bus had no room to
  /// keep it, and closes it then.
  public var isSurviving: Bool
}

/// One observation, as the bus sees it.
public struct ObservationInfo: Hashable, Sendable {
  /// The connection whose it is, `:N`.
  public var connection: String
  /// The names that it takes; `**` or empty for any.
  public var pattern: String
  /// The object that it takes; empty for any.
  public var object: String
  /// What becomes of its notifications while the connection is suspended.
  public var suspension: SuspensionBehavior
  /// Posters that wait do so for it.
  public var isAwaited: Bool
}

/// What the bus has retained: the last notification of a name and object that was posted to be kept.
public struct RetainedInfo: Hashable, Sendable {
  /// What it says.
  public var name: String
  /// What it is about; empty if about nothing in particular.
  public var object: String
  /// The connection that posted it, `:N`; it may have ended.
  public var connection: String
  /// The user who posted it, and whose account it counts in.
  public var uid: UInt32
  /// Bytes of userInfo.
  public var byteCount: Int
  /// Since it was posted.
  public var age: Duration
}

/// One attached delegate, as the bus sees it.
public struct DelegateInfo: Hashable, Sendable {
  /// The delegate's id, never used again.
  public var id: UInt64
  /// The connection whose it is, `:N`.
  public var connection: String
  /// What it calls itself; empty if nothing.
  public var label: String
  /// The process, as the kernel recorded it when it connected.
  public var pid: Int32
  /// The user that the process ran as when it connected.
  public var uid: UInt32
  /// The process's name (comm), at most 15 bytes; empty when it was gone too soon to tell.
  public var process: String
  /// The systemd unit; empty if none.
  public var unit: String
  /// The object whose delegate it is; empty for any.
  public var object: String
  /// Its place in the chain: lower is earlier.
  public var order: Int32
  /// What its failure counts as.
  public var failurePolicy: FailurePolicy
  /// The time that it has for an answer.
  public var timeout: Duration
  /// The names that it responds to.
  public var patterns: [String]
}

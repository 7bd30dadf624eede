// SPDX-License-Identifier: Apache-2.0

/// The facts that a bus sends to a new connection about itself.
public struct BusInfo: Hashable, Sendable {
  public var pid: Int32
  /// The version, for people, such as `0.9.0`.
  public var software: String
  /// The largest userInfo of a message, in bytes.
  public var payloadMax: Int
  /// How many observations a connection may have.
  public var observationsMax: Int
  /// How many delegates a connection may attach.
  public var delegatesMax: Int
  /// How many queries a connection may have open.
  public var queriesMax: Int
  public var deadlineMax: Duration
  /// The deadline of a query whose asker sets none.
  public var deadlineDefault: Duration
}

/// The status of the bus. Its counters begin at 0 when it starts.
public struct BusStatus: Hashable, Sendable {
  public var pid: Int32
  /// The version, for people, such as `0.9.0`.
  public var software: String
  public var address: String
  /// The time since the bus started.
  public var uptime: Duration
  public var connections: Int
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// Accepted notifications.
  public var posted: Int
  /// Copies of notifications delivered to observers.
  public var delivered: Int
  /// Copies dropped because an observer did not read.
  public var lost: Int
  public var asked: Int
  public var vetoed: Int
  public var holds: Int
  /// Frames that the policy refused.
  public var denied: Int
  /// Frames refused for other reasons.
  public var refused: Int
  /// Bytes of the accepted notifications' frames.
  public var postedBytes: Int
  public var iterations: Int
  /// Processor time of the bus's thread since its start.
  public var busy: Duration
  /// The longest iteration of the event loop in the last minute.
  public var longestIteration: Duration
  /// Used bytes of the log.
  public var logUsed: Int
  /// The size of the log, in bytes.
  public var logMax: Int
  /// Descriptors that the keeper has or is about to get; 0 without a keeper.
  public var kept: Int
}

public struct ConnectionInfo: Hashable, Sendable {
  /// Such as `:7`; never reused.
  public var id: String
  /// See ``Asker/pid``.
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
  /// Bytes that the bus has queued for it and that it has not read.
  public var queuedBytes: Int
  /// Notifications lost because it did not read. The count continues over a restart.
  public var lost: Int
  public var posted: Int
  /// The bus does not read from it for now, so that its observers can catch up.
  public var isPaused: Bool
  /// It does not read, so it loses notifications.
  public var isLossy: Bool
  public var isSuspended: Bool
  /// Bytes that the bus buffers for it while it is suspended.
  public var heldBytes: Int
  /// Notifications that were buffered while it is suspended and that later ones replaced.
  public var coalesced: Int
  /// True if it survives a restart of the bus. If false, it ends with the bus, because the bus had no space to log it,
  /// or the keeper has no copy of its socket yet.
  public var isSurviving: Bool
  /// Bytes of the frames of its notifications.
  public var postedBytes: Int
  /// Notifications that were queued for it. The count continues over a restart.
  public var delivered: Int
  /// Frames from it that the policy refused.
  public var denied: Int
  /// Frames from it that were refused for other reasons.
  public var refused: Int
  public var asked: Int
  /// How often the bus has paused it.
  public var pauses: Int
  public var pausedTime: Duration
  public var lossyTime: Duration
}

/// A connection that left in the last minute.
public struct DepartedConnectionInfo: Hashable, Sendable {
  /// Such as `:7`; never reused.
  public var id: String
  /// See ``Asker/pid``. Another process may have the pid by now.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// How long it was connected.
  public var age: Duration
  /// The time since it left.
  public var elapsed: Duration
  /// The name of the protocol's error with which the bus closed it, such as `tooSlow`; nil if the client closed it.
  public var closedBecause: String?
  /// Notifications that it lost because it did not read.
  public var lost: Int
  public var posted: Int
}

/// A verdict of the past.
public struct PastVerdict: Hashable, Sendable {
  /// The asker's, such as `:7`.
  public var connection: String
  /// The verdict's number: 1 for the first verdict of this daemon, then one more for each.
  public var number: UInt64
  /// The time since the verdict.
  public var age: Duration
  /// The verdict as the fields that the journal would have: names, each with its values. docs/CONCEPTS.md lists them.
  /// Control characters are escaped.
  public var fields: [String: [String]]
}

public struct ObservationInfo: Hashable, Sendable {
  /// Such as `:7`.
  public var connection: String
  /// `**` or empty for any name.
  public var pattern: String
  /// Empty for any.
  public var object: String
  /// Applies while the connection is suspended.
  public var suspension: SuspensionBehavior
  /// True if awaited posts wait for it.
  public var isAwaited: Bool
}

/// A retained notification: the last one of its name and object that was posted as retained.
public struct RetainedInfo: Hashable, Sendable {
  public var name: String
  /// Empty for none.
  public var object: String
  /// The poster's, such as `:7`; it may have ended.
  public var connection: String
  /// The user whose quota it counts against.
  public var uid: UInt32
  /// Bytes of its userInfo.
  public var byteCount: Int
  /// The time since it was posted.
  public var age: Duration
}

public struct DelegateInfo: Hashable, Sendable {
  /// The delegate's id, never reused.
  public var id: UInt64
  /// Such as `:7`.
  public var connection: String
  /// The name in verdicts; may be empty.
  public var label: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// Empty for any.
  public var object: String
  /// Lower is earlier in the chain.
  public var order: Int32
  /// The effect of a timeout, a lost connection or an error.
  public var failurePolicy: FailurePolicy
  /// Its time for each answer.
  public var timeout: Duration
  public var patterns: [String]
}

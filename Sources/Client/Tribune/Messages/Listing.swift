// SPDX-License-Identifier: Apache-2.0

/// The bus of a connection, as it introduced itself.
public struct BusInfo: Hashable, Sendable {
  public var pid: Int32
  /// The version, for people, such as `0.9.0`.
  public var software: String
  /// Bytes of userInfo in one message.
  public var payloadMax: Int
  /// Open observations of one connection.
  public var observationsMax: Int
  /// Attachments of one connection.
  public var delegatesMax: Int
  /// Open queries of one connection.
  public var queriesMax: Int
  public var deadlineMax: Duration
  /// For queries whose askers set none.
  public var deadlineDefault: Duration
}

/// The status of the bus. Its counters begin at 0 when it starts.
public struct BusStatus: Hashable, Sendable {
  public var pid: Int32
  /// The version, for people, such as `0.9.0`.
  public var software: String
  public var address: String
  /// Since its start.
  public var uptime: Duration
  public var connections: Int
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// Accepted notifications.
  public var posted: Int
  /// Delivered copies of notifications.
  public var delivered: Int
  /// Copies dropped because an observer did not read.
  public var lost: Int
  public var asked: Int
  public var vetoed: Int
  public var holds: Int
  /// Actions under way.
  public var actions: Int
  /// Frames that the policy refused.
  public var denied: Int
  /// Frames refused for other reasons.
  public var refused: Int
  /// Bytes of the accepted notifications' frames.
  public var postedBytes: Int
  public var iterations: Int
  /// Processor time of the bus's thread since its start.
  public var busy: Duration
  /// The longest iteration in the last minute.
  public var longestIteration: Duration
  /// Used bytes of the log.
  public var logUsed: Int
  /// The size of the log, in bytes.
  public var logMax: Int
  /// Descriptors that the keeper has or will get; 0 without a keeper.
  public var kept: Int
}

public struct ConnectionInfo: Hashable, Sendable {
  /// `:N`, never used again.
  public var id: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// Since it connected.
  public var age: Duration
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// Queued bytes that it has not read.
  public var queuedBytes: Int
  /// Notifications lost because it did not read. The count continues over a restart.
  public var lost: Int
  public var posted: Int
  /// The bus does not read from it for now, to let its observers catch up.
  public var isPaused: Bool
  /// It does not read, so it loses notifications.
  public var isLossy: Bool
  public var isSuspended: Bool
  /// Bytes that the bus buffers for it while it is suspended.
  public var heldBytes: Int
  /// Suspended notifications that later ones have replaced.
  public var coalesced: Int
  /// It survives a restart of the bus. If false, it ends with the bus: the bus had no space to log it, or the keeper
  /// has no copy of it yet.
  public var isSurviving: Bool
  /// Bytes of the frames of its notifications.
  public var postedBytes: Int
  /// Notifications that were queued for it. Continues over a restart.
  public var delivered: Int
  /// Its frames that the policy refused.
  public var denied: Int
  /// Its frames refused for other reasons.
  public var refused: Int
  public var asked: Int
  /// Times that it was paused.
  public var pauses: Int
  public var pausedTime: Duration
  public var lossyTime: Duration
}

/// A connection that left in the last minute.
public struct DepartedConnectionInfo: Hashable, Sendable {
  /// `:N`, never used again.
  public var id: String
  /// See ``Asker/pid``. Another process may have the pid by now.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// While it was connected.
  public var age: Duration
  /// Since it left.
  public var elapsed: Duration
  /// The name of the protocol's error with which the bus closed it, such as `tooSlow`; nil if the client closed it.
  public var closedBecause: String?
  /// Notifications that it lost because it did not read.
  public var lost: Int
  public var posted: Int
}

/// A verdict of the past.
public struct PastVerdict: Hashable, Sendable {
  /// The asker, `:N`.
  public var connection: String
  /// Grows from 1 with each verdict of this daemon.
  public var number: UInt64
  /// The time since the verdict.
  public var age: Duration
  /// The fields of its journal entry: names, each with its values. docs/CONCEPTS.md lists them. Control characters are
  /// escaped.
  public var fields: [String: [String]]
}

public struct ObservationInfo: Hashable, Sendable {
  /// `:N`.
  public var connection: String
  /// `**` or empty for any.
  public var pattern: String
  /// Empty for any.
  public var object: String
  /// Applies while the connection is suspended.
  public var suspension: SuspensionBehavior
  /// Awaited posts wait for it.
  public var isAwaited: Bool
}

/// A retained notification: the last one of its name and object that was posted as retained.
public struct RetainedInfo: Hashable, Sendable {
  public var name: String
  /// Empty for none.
  public var object: String
  /// `:N`; it may have ended.
  public var connection: String
  /// Its quota is charged.
  public var uid: UInt32
  /// Bytes of userInfo.
  public var byteCount: Int
  /// Since it was posted.
  public var age: Duration
}

public struct DelegateInfo: Hashable, Sendable {
  /// Never used again.
  public var id: UInt64
  /// `:N`.
  public var connection: String
  /// May be empty.
  public var label: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// Empty for any.
  public var object: String
  /// Lower is earlier.
  public var order: Int32
  /// The effect of a failure.
  public var failurePolicy: FailurePolicy
  /// For an answer.
  public var timeout: Duration
  public var patterns: [String]
}

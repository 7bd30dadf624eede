// SPDX-License-Identifier: Apache-2.0

/// The facts that the bus sent in its `welcome` frame when the connection began.
public struct BusInfo: Hashable, Sendable {
  public var pid: Int32
  /// The bus's version as a text for people, such as `0.9.0`.
  public var software: String
  /// The limit of userInfo in one message, in bytes.
  public var payloadMax: Int
  /// The limit of observations, monitors and declarations together, for one connection.
  public var observationsMax: Int
  /// The limit of attachments and holds together, for one connection.
  public var delegatesMax: Int
  /// The limit of open queries and awaited posts together, for one connection.
  public var queriesMax: Int
  public var deadlineMax: Duration
  /// The deadline of queries whose askers set none.
  public var deadlineDefault: Duration
}

/// The status of the bus. The counters begin at 0 when the bus starts or restarts.
public struct BusStatus: Hashable, Sendable {
  public var pid: Int32
  /// The bus's version as a text for people, such as `0.9.0`.
  public var software: String
  public var address: String
  public var uptime: Duration
  public var connections: Int
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// The number of accepted notifications.
  public var posted: Int
  /// The number of copies of notifications that the bus queued for observers.
  public var delivered: Int
  /// The number of copies that the bus dropped because an observer did not read.
  public var lost: Int
  public var asked: Int
  public var vetoed: Int
  public var holds: Int
  public var actions: Int
  /// The number of frames that the policy refused.
  public var denied: Int
  /// The number of frames that the bus refused for other reasons.
  public var refused: Int
  /// The size of all accepted notifications' frames, in bytes.
  public var postedBytes: Int
  public var iterations: Int
  /// The processor time that the bus's thread has used since the bus started.
  public var busy: Duration
  /// The longest iteration of the event loop in the last one to two minutes.
  public var longestIteration: Duration
  /// The used bytes of the state log, from which the next bus continues after a restart.
  public var logUsed: Int
  /// The limit of ``logUsed``, in bytes.
  public var logMax: Int
  /// The number of descriptors in the keeper process, or on their way there; 0 without a keeper.
  public var kept: Int
}

public struct ConnectionInfo: Hashable, Sendable {
  /// The connection's id, such as `:7`, which the bus never uses again.
  public var id: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The time since the process connected.
  public var age: Duration
  public var observations: Int
  public var delegates: Int
  public var queries: Int
  /// Bytes in the connection's queue that the client has not read.
  public var queuedBytes: Int
  /// The number of notifications that the connection lost because its client did not read, or in a crash of
  /// the bus. The number continues over a restart.
  public var lost: Int
  public var posted: Int
  /// True while the bus does not read from the connection, because observers of its posts are slow.
  public var isPaused: Bool
  /// True while the bus drops notifications for the connection, because its client reads too slowly.
  public var isLossy: Bool
  public var isSuspended: Bool
  /// Bytes of notifications that the bus buffers while the connection is suspended.
  public var bufferedBytes: Int
  /// The number of buffered notifications that later notifications have replaced.
  public var coalesced: Int
  /// True if a restart with a keeper process keeps the connection. False if the state log had no space for
  /// the connection, or if the keeper has no copy of the socket yet.
  public var isSurviving: Bool
  /// The size of the frames of all notifications that the connection posted, in bytes.
  public var postedBytes: Int
  /// The number of notifications that the bus queued for the connection. The number continues over a restart.
  public var delivered: Int
  /// The number of the connection's frames that the policy refused.
  public var denied: Int
  /// The number of the connection's frames that the bus refused for other reasons.
  public var refused: Int
  public var asked: Int
  /// How often the bus has paused the connection.
  public var pauses: Int
  public var pausedTime: Duration
  public var lossyTime: Duration
}

/// A connection that left in the last minute.
public struct DepartedConnectionInfo: Hashable, Sendable {
  /// The connection's id, such as `:7`, which the bus never uses again.
  public var id: String
  /// See ``Asker/pid``. Another process can have the pid by now.
  public var pid: Int32
  public var uid: UInt32
  public var gid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The time from connecting to leaving.
  public var age: Duration
  /// The time since the connection left.
  public var elapsed: Duration
  /// The name of the wire protocol's error with which the bus closed the connection, such as `tooSlow`; nil
  /// if the client closed the connection.
  public var closedBecause: String?
  /// The number of notifications that the connection lost because its client did not read.
  public var lost: Int
  public var posted: Int
}

/// A verdict that the daemon remembers.
public struct PastVerdict: Hashable, Sendable {
  /// The id of the asker's connection, such as `:7`.
  public var connection: String
  /// The verdict's number. Each daemon numbers its verdicts from 1.
  public var number: UInt64
  /// The time since the verdict.
  public var age: Duration
  /// The fields that the verdict's entry would have in a journal (docs/CONCEPTS.md), with `_PID` and `_UID`.
  /// A field can have several values. Control characters are escaped.
  public var fields: [String: [String]]
}

public struct ObservationInfo: Hashable, Sendable {
  /// The id of the observer's connection, such as `:7`.
  public var connection: String
  /// The pattern of names; `**` or empty for any name.
  public var pattern: String
  /// The object; empty for any object.
  public var object: String
  /// The treatment of matching notifications while the connection is suspended.
  public var suspension: SuspensionBehavior
  /// True if the posters of awaited posts wait for this observer.
  public var isAwaited: Bool
}

/// A retained notification: the last one with its name and object that a client posted as retained.
public struct RetainedInfo: Hashable, Sendable {
  public var name: String
  /// The notification's object; empty for none.
  public var object: String
  /// The id of the poster's connection, such as `:7`. This connection can have ended since the post.
  public var connection: String
  /// The user in whose quota the notification counts.
  public var uid: UInt32
  /// The size of userInfo, in bytes.
  public var byteCount: Int
  /// The time since the post.
  public var age: Duration
}

public struct DelegateInfo: Hashable, Sendable {
  /// The delegate's id, which the bus never uses again.
  public var id: UInt64
  /// The id of the delegate's connection, such as `:7`.
  public var connection: String
  /// The delegate's claimed name; may be empty.
  public var label: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The delegate's object; empty for any object.
  public var object: String
  /// The position in the chain. Delegates with lower values come first.
  public var order: Int32
  public var failurePolicy: FailurePolicy
  /// The time that the bus waits for an answer.
  public var timeout: Duration
  public var patterns: [String]
}

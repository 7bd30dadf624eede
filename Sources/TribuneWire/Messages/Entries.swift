// SPDX-License-Identifier: Apache-2.0

/// The bus as a whole. The counters count from its start.
package struct BusEntry: Equatable, Sendable {
  package var pid: UInt32 = 0
  package var software = ""
  package var address = ""
  /// Microseconds.
  package var uptime: UInt64 = 0
  package var connections: UInt32 = 0
  package var observations: UInt32 = 0
  package var delegates: UInt32 = 0
  package var queries: UInt32 = 0
  package var posted: UInt64 = 0
  package var delivered: UInt64 = 0
  package var lost: UInt64 = 0
  package var asked: UInt64 = 0
  package var vetoed: UInt64 = 0
  package var holds: UInt32 = 0
  /// Frames that the policy refused.
  package var denied: UInt64 = 0

  package init() {}

  package init(from reader: inout FieldReader) throws(WireError) {
    pid = try reader.integer()
    software = try reader.text()
    address = try reader.text()
    uptime = try reader.integer()
    connections = try reader.integer()
    observations = try reader.integer()
    delegates = try reader.integer()
    queries = try reader.integer()
    posted = try reader.integer()
    delivered = try reader.integer()
    lost = try reader.integer()
    asked = try reader.integer()
    vetoed = try reader.integer()
    holds = try reader.integer()
    // Version 0.1.0 writes none.
    denied = reader.isAtEnd ? 0 : try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(pid)
    buffer.appendField(software)
    buffer.appendField(address)
    buffer.append(uptime)
    buffer.append(connections)
    buffer.append(observations)
    buffer.append(delegates)
    buffer.append(queries)
    buffer.append(posted)
    buffer.append(delivered)
    buffer.append(lost)
    buffer.append(asked)
    buffer.append(vetoed)
    buffer.append(holds)
    buffer.append(denied)
  }
}

package struct ConnectionEntry: Equatable, Sendable {
  package var id: ConnectionID
  package var peer: PeerIdentity
  /// Microseconds since it connected.
  package var age: UInt64
  package var observations: UInt32
  package var delegates: UInt32
  /// Pending queries that it has asked.
  package var queries: UInt32
  /// Bytes that are queued for it.
  package var queued: UInt64
  /// Notifications that were dropped because it did not read.
  package var lost: UInt64
  /// Notifications that it posted.
  package var posted: UInt64
  /// The bus does not read from it, so that its observers can catch up.
  package var isPaused: Bool
  /// It does not read, and so loses notifications.
  package var isLossy: Bool
  /// It has suspended its notifications.
  package var isSuspended: Bool
  /// Bytes that are buffered for it until it resumes.
  package var buffered: UInt64
  /// Whether it survives a restart of the bus, if any connection does. An older bus reports true for all.
  package var isSurviving: Bool
  /// Notifications that later ones have replaced since it was suspended. An older bus reports 0.
  package var coalesced: UInt64

  package init(
    id: ConnectionID, peer: PeerIdentity, age: UInt64, observations: UInt32, delegates: UInt32,
    queries: UInt32, queued: UInt64, lost: UInt64, posted: UInt64, isPaused: Bool, isLossy: Bool,
    isSuspended: Bool = false, buffered: UInt64 = 0, isSurviving: Bool = true, coalesced: UInt64 = 0
  ) {
    self.id = id
    self.peer = peer
    self.age = age
    self.observations = observations
    self.delegates = delegates
    self.queries = queries
    self.queued = queued
    self.lost = lost
    self.posted = posted
    self.isPaused = isPaused
    self.isLossy = isLossy
    self.isSuspended = isSuspended
    self.buffered = buffered
    self.isSurviving = isSurviving
    self.coalesced = coalesced
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    id = ConnectionID(rawValue: try reader.integer())
    peer = try PeerIdentity(from: &reader)
    age = try reader.integer()
    observations = try reader.integer()
    delegates = try reader.integer()
    queries = try reader.integer()
    queued = try reader.integer()
    lost = try reader.integer()
    posted = try reader.integer()
    let flags = try reader.integer(UInt8.self)
    isPaused = flags & 1 != 0
    isLossy = flags & 2 != 0
    isSuspended = flags & 4 != 0
    isSurviving = flags & 8 == 0
    buffered = try reader.integer()
    coalesced = reader.isAtEnd ? 0 : try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(id.rawValue)
    peer.append(to: buffer)
    buffer.append(age)
    buffer.append(observations)
    buffer.append(delegates)
    buffer.append(queries)
    buffer.append(queued)
    buffer.append(lost)
    buffer.append(posted)
    buffer.append(
      UInt8((isPaused ? 1 : 0) | (isLossy ? 2 : 0) | (isSuspended ? 4 : 0) | (isSurviving ? 0 : 8)))
    buffer.append(buffered)
    buffer.append(coalesced)
  }
}

/// A connection that has gone.
package struct DepartedEntry: Equatable, Sendable {
  package var id: ConnectionID
  package var peer: PeerIdentity
  /// Microseconds for which it was connected.
  package var age: UInt64
  /// Microseconds since it has gone.
  package var elapsed: UInt64
  /// The code of the error with which the bus closed it; 0 if the client has gone by itself.
  package var rawReason: UInt16
  /// Notifications that were dropped because it did not read.
  package var lost: UInt64
  /// Notifications that it posted.
  package var posted: UInt64

  package init(
    id: ConnectionID, peer: PeerIdentity, age: UInt64, elapsed: UInt64, reason: ErrorCode?, lost: UInt64,
    posted: UInt64
  ) {
    self.id = id
    self.peer = peer
    self.age = age
    self.elapsed = elapsed
    rawReason = reason?.rawValue ?? 0
    self.lost = lost
    self.posted = posted
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    id = ConnectionID(rawValue: try reader.integer())
    peer = try PeerIdentity(from: &reader)
    age = try reader.integer()
    elapsed = try reader.integer()
    rawReason = try reader.integer()
    lost = try reader.integer()
    posted = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(id.rawValue)
    peer.append(to: buffer)
    buffer.append(age)
    buffer.append(elapsed)
    buffer.append(rawReason)
    buffer.append(lost)
    buffer.append(posted)
  }
}

package struct ObservationEntry: Equatable, Sendable {
  package var connection: ConnectionID
  package var pattern: String
  /// Empty for any object.
  package var object: String
  package var suspension: SuspensionBehavior
  package var isAwaited: Bool

  package init(
    connection: ConnectionID, pattern: String, object: String, suspension: SuspensionBehavior = .coalesce,
    isAwaited: Bool = false
  ) {
    self.connection = connection
    self.pattern = pattern
    self.object = object
    self.suspension = suspension
    self.isAwaited = isAwaited
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    connection = ConnectionID(rawValue: try reader.integer())
    pattern = try reader.text()
    object = try reader.text()
    suspension = try reader.value()
    isAwaited = try reader.flag()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.appendField(pattern)
    buffer.appendField(object)
    buffer.append(suspension.rawValue)
    buffer.append(isAwaited)
  }
}

package struct DelegateEntry: Equatable, Sendable {
  package var connection: ConnectionID
  package var delegate: DelegateIdentity
  /// Empty for any object.
  package var object: String
  package var order: Int32
  package var failurePolicy: FailurePolicy
  /// Milliseconds.
  package var timeout: UInt32
  package var patterns: [String]

  package init(
    connection: ConnectionID, delegate: DelegateIdentity, object: String, order: Int32,
    failurePolicy: FailurePolicy, timeout: UInt32, patterns: [String]
  ) {
    self.connection = connection
    self.delegate = delegate
    self.object = object
    self.order = order
    self.failurePolicy = failurePolicy
    self.timeout = timeout
    self.patterns = patterns
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    connection = ConnectionID(rawValue: try reader.integer())
    delegate = try DelegateIdentity(from: &reader)
    object = try reader.text()
    order = try reader.integer()
    failurePolicy = try reader.value()
    timeout = try reader.integer()
    patterns = try reader.texts(max: Int(UInt16.max), "patterns")
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    delegate.append(to: buffer)
    buffer.appendField(object)
    buffer.append(order)
    buffer.append(failurePolicy.rawValue)
    buffer.append(timeout)
    buffer.appendFields(patterns)
  }
}

/// The retained notification of a name and an object.
package struct RetainedEntry: Equatable, Sendable {
  /// The connection that posted it.
  package var connection: ConnectionID
  /// The user to whose account it counts.
  package var uid: UInt32
  package var name: String
  package var object: String
  /// Bytes of userInfo.
  package var length: UInt32
  /// Microseconds since it was posted.
  package var age: UInt64

  package init(
    connection: ConnectionID, uid: UInt32, name: String, object: String, length: UInt32, age: UInt64
  ) {
    self.connection = connection
    self.uid = uid
    self.name = name
    self.object = object
    self.length = length
    self.age = age
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    connection = ConnectionID(rawValue: try reader.integer())
    uid = try reader.integer()
    name = try reader.text()
    object = try reader.text()
    length = try reader.integer()
    age = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.append(uid)
    buffer.appendField(name)
    buffer.appendField(object)
    buffer.append(length)
    buffer.append(age)
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// The subjects of a `list`.
package enum ListSubject: UInt8, Sendable, CaseIterable {
  case bus = 0
  case connections = 1
  case observations = 2
  case delegates = 3
  /// The entries that a query with the frame's name and object would meet: holds, required delegates that are missing,
  /// and the delegates that it would be put to, in order.
  case chain = 4
  case holds = 5
  /// Objects that are declared or have delegates of their own.
  case objects = 6
  case protocols = 7
  /// The members of a protocol: that of the frame's object, or the protocol with this name.
  case members = 8
  /// Retained notifications.
  case retained = 9
  /// How the policy decides about an action with the frame's name, or pattern, and its object.
  case access = 10
  /// What ends if the policy in the frame's payload replaces the one in force.
  case endings = 11
  /// Connections that have gone lately.
  case departed = 12
  /// What users have, and may have, of what they share.
  case accounts = 13
}

/// Asks for a list.
package struct List: FrameFields {
  package static let kind = FrameKind.list

  package var subject: ListSubject
  /// Only items of this connection; 0 for all.
  package var connection: UInt64
  /// See [ACCESS.md](ACCESS.md).
  package var question: AccessQuestion?

  package init(subject: ListSubject, connection: UInt64 = 0, question: AccessQuestion? = nil) {
    self.subject = subject
    self.connection = connection
    self.question = question
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    subject = try reader.value()
    connection = try reader.integer()
    question = subject == .access ? try AccessQuestion(from: &reader) : nil
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(subject.rawValue)
    buffer.append(connection)
    question?.append(to: buffer)
  }
}

/// The bus as a whole.
package struct BusEntry: Equatable, Sendable {
  package var pid: UInt32
  package var software: String
  package var address: String
  /// Microseconds.
  package var uptime: UInt64
  /// At the moment.
  package var connections: UInt32
  package var observations: UInt32
  package var delegates: UInt32
  package var queries: UInt32
  /// Notifications taken from posters, put into observers' queues, dropped there.
  package var posted: UInt64
  package var delivered: UInt64
  package var lost: UInt64
  /// Queries for permission that have a verdict, without dry runs; and how many of them were vetoed.
  package var asked: UInt64
  package var vetoed: UInt64
  /// At the moment.
  package var holds: UInt32
  /// Frames that the policy refused; a counter.
  package var denied: UInt64

  package init(
    pid: UInt32 = 0, software: String = "", address: String = "", uptime: UInt64 = 0, connections: UInt32 = 0,
    observations: UInt32 = 0, delegates: UInt32 = 0, queries: UInt32 = 0, posted: UInt64 = 0,
    delivered: UInt64 = 0, lost: UInt64 = 0, asked: UInt64 = 0, vetoed: UInt64 = 0, holds: UInt32 = 0,
    denied: UInt64 = 0
  ) {
    self.pid = pid
    self.software = software
    self.address = address
    self.uptime = uptime
    self.connections = connections
    self.observations = observations
    self.delegates = delegates
    self.queries = queries
    self.posted = posted
    self.delivered = delivered
    self.lost = lost
    self.asked = asked
    self.vetoed = vetoed
    self.holds = holds
    self.denied = denied
  }

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
    // Versions before 0.2 end here.
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

/// What a connection is like at the moment.
package struct ConnectionState: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the
  /// set's implementation there.
  package static var none: ConnectionState { ConnectionState(rawValue: 0) }
  /// The bus does not read from it, so that its observers can catch up.
  package static let paused = ConnectionState(rawValue: 1)
  /// It does not read, and so loses notifications.
  package static let lossy = ConnectionState(rawValue: 2)
  /// It has suspended its notifications.
  package static let suspended = ConnectionState(rawValue: 4)
  /// It would end if the bus died now.
  package static let notSurviving = ConnectionState(rawValue: 8)

  package static let all: ConnectionState = [.paused, .lossy, .suspended, .notSurviving]

  /// Other modules would call the standard library's implementation through witness tables.
  @inlinable package func contains(_ member: ConnectionState) -> Bool {
    rawValue & member.rawValue == member.rawValue
  }
}

/// A connection.
package struct ConnectionEntry: Equatable, Sendable {
  package var id: ConnectionID
  package var peer: PeerIdentity
  /// Microseconds since it connected.
  package var age: UInt64
  /// Its registrations, without monitors and declarations, and its queries.
  package var observations: UInt32
  package var delegates: UInt32
  package var queries: UInt32
  /// Bytes that wait for it to read.
  package var queued: UInt64
  /// Notifications that it lost, and that it posted.
  package var lost: UInt64
  package var posted: UInt64
  /// Paused: the bus does not read from it at the moment; lossy: it does not read; notSurviving: the bus has a keeper
  /// and the connection has registered something, but it would end if the bus died now, because there is no copy of it
  /// or no room in the log.
  package var state: ConnectionState
  /// Bytes that are buffered for it until it resumes.
  package var buffered: UInt64
  /// Notifications that later ones have replaced since it was suspended.
  package var coalesced: UInt64

  package init(
    id: ConnectionID, peer: PeerIdentity, age: UInt64, observations: UInt32, delegates: UInt32,
    queries: UInt32, queued: UInt64, lost: UInt64, posted: UInt64, state: ConnectionState,
    buffered: UInt64 = 0, coalesced: UInt64 = 0
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
    self.state = state
    self.buffered = buffered
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
    state = ConnectionState(rawValue: try reader.integer())
    buffered = try reader.integer()
    // Versions before 0.2 end here.
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
    buffer.append(state.rawValue)
    buffer.append(buffered)
    buffer.append(coalesced)
  }
}

/// A connection that has gone, for the subject *departed*.
package struct DepartedEntry: Equatable, Sendable {
  package var id: ConnectionID
  package var peer: PeerIdentity
  /// Microseconds for which it was connected.
  package var age: UInt64
  /// Microseconds since it has gone.
  package var elapsed: UInt64
  /// The error with which the bus closed it; 0 if the client closed it, or its process ended.
  package var rawReason: UInt16
  /// Notifications that it lost, and that it posted.
  package var lost: UInt64
  package var posted: UInt64

  /// Nil if this version does not know the number.
  package var reason: ErrorCode? { ErrorCode(rawValue: rawReason) }

  package init(
    id: ConnectionID, peer: PeerIdentity, age: UInt64, elapsed: UInt64, rawReason: UInt16, lost: UInt64,
    posted: UInt64
  ) {
    self.id = id
    self.peer = peer
    self.age = age
    self.elapsed = elapsed
    self.rawReason = rawReason
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

/// What a user has, and may have, of a resource that all users share, for the subject *accounts*. There is one for each
/// user and resource.
package struct AccountEntry: Equatable, Sendable {
  package var uid: UInt32
  /// As how many users this one counts.
  package var weight: UInt32
  /// Whether it is root, or the user that runs the bus.
  package var isPrivileged: Bool
  /// `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`, `protocols`, `queues`,
  /// `unread-files`; later versions can have more.
  package var resource: String
  /// What the user has, what it may have at the moment, and what all may have together: bytes of `partial-frames`,
  /// `log`, `retained` and `queues`, a number of the others.
  package var used: UInt64
  package var share: UInt64
  package var total: UInt64

  package init(
    uid: UInt32, weight: UInt32, isPrivileged: Bool, resource: String, used: UInt64, share: UInt64,
    total: UInt64
  ) {
    self.uid = uid
    self.weight = weight
    self.isPrivileged = isPrivileged
    self.resource = resource
    self.used = used
    self.share = share
    self.total = total
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    uid = try reader.integer()
    weight = try reader.integer()
    isPrivileged = try reader.flag()
    resource = try reader.text()
    used = try reader.integer()
    share = try reader.integer()
    total = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(uid)
    buffer.append(weight)
    buffer.append(isPrivileged)
    buffer.appendField(resource)
    buffer.append(used)
    buffer.append(share)
    buffer.append(total)
  }
}

/// One item of a list.
package enum Entry: FrameFields {
  case bus(BusEntry)
  case connection(ConnectionEntry)
  case observation(ObservationEntry)
  case delegate(DelegateEntry)
  case hold(HoldEntry)
  case missing(MissingEntry)
  case object(ObjectEntry)
  case `protocol`(ProtocolEntry)
  case member(MemberEntry)
  case retained(RetainedEntry)
  /// Since 0.2.
  case access(AccessEntry)
  /// Since 0.2.
  case nearMiss(NearMissEntry)
  /// Since 0.2.
  case ending(EndingEntry)
  /// Since 0.2.
  case departed(DepartedEntry)
  /// Since 0.2.
  case account(AccountEntry)

  package static let kind = FrameKind.entry

  private enum Tag: UInt8 {
    case bus = 0
    case connection = 1
    case observation = 2
    case delegate = 3
    case hold = 4
    case missing = 5
    case object = 6
    case `protocol` = 7
    case member = 8
    case retained = 9
    case access = 10
    case nearMiss = 11
    case ending = 12
    case departed = 13
    case account = 14
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    switch try reader.value(Tag.self) {
    case .bus: self = .bus(try BusEntry(from: &reader))
    case .connection: self = .connection(try ConnectionEntry(from: &reader))
    case .observation: self = .observation(try ObservationEntry(from: &reader))
    case .delegate: self = .delegate(try DelegateEntry(from: &reader))
    case .hold: self = .hold(try HoldEntry(from: &reader))
    case .missing: self = .missing(try MissingEntry(from: &reader))
    case .object: self = .object(try ObjectEntry(from: &reader))
    case .protocol: self = .protocol(try ProtocolEntry(from: &reader))
    case .member: self = .member(try MemberEntry(from: &reader))
    case .retained: self = .retained(try RetainedEntry(from: &reader))
    case .access: self = .access(try AccessEntry(from: &reader))
    case .nearMiss: self = .nearMiss(try NearMissEntry(from: &reader))
    case .ending: self = .ending(try EndingEntry(from: &reader))
    case .departed: self = .departed(try DepartedEntry(from: &reader))
    case .account: self = .account(try AccountEntry(from: &reader))
    }
  }

  package func append(to buffer: ByteBuffer) {
    switch self {
    case .bus(let content):
      buffer.append(Tag.bus.rawValue)
      content.append(to: buffer)
    case .connection(let content):
      buffer.append(Tag.connection.rawValue)
      content.append(to: buffer)
    case .observation(let content):
      buffer.append(Tag.observation.rawValue)
      content.append(to: buffer)
    case .delegate(let content):
      buffer.append(Tag.delegate.rawValue)
      content.append(to: buffer)
    case .hold(let content):
      buffer.append(Tag.hold.rawValue)
      content.append(to: buffer)
    case .missing(let content):
      buffer.append(Tag.missing.rawValue)
      content.append(to: buffer)
    case .object(let content):
      buffer.append(Tag.object.rawValue)
      content.append(to: buffer)
    case .protocol(let content):
      buffer.append(Tag.protocol.rawValue)
      content.append(to: buffer)
    case .member(let content):
      buffer.append(Tag.member.rawValue)
      content.append(to: buffer)
    case .retained(let content):
      buffer.append(Tag.retained.rawValue)
      content.append(to: buffer)
    case .access(let content):
      buffer.append(Tag.access.rawValue)
      content.append(to: buffer)
    case .nearMiss(let content):
      buffer.append(Tag.nearMiss.rawValue)
      content.append(to: buffer)
    case .ending(let content):
      buffer.append(Tag.ending.rawValue)
      content.append(to: buffer)
    case .departed(let content):
      buffer.append(Tag.departed.rawValue)
      content.append(to: buffer)
    case .account(let content):
      buffer.append(Tag.account.rawValue)
      content.append(to: buffer)
    }
  }
}

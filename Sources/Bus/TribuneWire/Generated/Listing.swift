// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// The subjects of a `list`.
package enum ListSubject: UInt8, Sendable, CaseIterable {
  case bus = 0
  case connections = 1
  case observations = 2
  case delegates = 3
  /// What a query with the frame's name and object would meet: the object, holds, actions under way, missing required
  /// delegates, and delegates, in order.
  case chain = 4
  case holds = 5
  /// Objects that are declared or have delegates of their own.
  case objects = 6
  case protocols = 7
  /// The methods of the protocol that the frame's object has, or whose name it is.
  case members = 8
  /// Retained notifications.
  case retained = 9
  /// How the policy decides about an action with the frame's name or pattern, and its object.
  case access = 10
  /// The registrations that would end if the policy in the payload replaced the present one.
  case endings = 11
  /// Connections that left in the last minute.
  case departed = 12
  /// Users' parts of shared resources.
  case accounts = 13
  /// Queries and actions under way.
  case queries = 14
  /// Counts of queries, by name.
  case names = 15
  /// How delegates and awaited observers answered, and how long they took.
  case participants = 16
  /// What users posted and received, by unit.
  case users = 17
  /// The last verdicts of a bus that writes to no journal.
  case verdicts = 18
}

/// Asks for a list.
package struct List: FrameFields {
  package static let kind = FrameKind.list

  package var subject: ListSubject
  /// Only items of this connection; 0 for all.
  package var connection: UInt64
  package var question: AccessQuestion?

  package init(subject: ListSubject, connection: UInt64 = 0, question: AccessQuestion? = nil) {
    self.subject = subject
    self.connection = connection
    self.question = question
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    subject = try reader.value()
    connection = try reader.integer()
    question = try subject == .access ? AccessQuestion(from: &reader) : nil
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
  /// Notifications received from posters; queued for observers; dropped there, or unreported by a daemon that died.
  package var posted: UInt64
  package var delivered: UInt64
  package var lost: UInt64
  /// Verdicts on permission, without dry runs; vetoes among them.
  package var asked: UInt64
  package var vetoed: UInt64
  /// Holds; actions under way.
  package var holds: UInt32
  package var actions: UInt32
  /// Frames that the policy refused; refused for another reason.
  package var denied: UInt64
  package var refused: UInt64
  /// Bytes of the posted notifications.
  package var postedBytes: UInt64
  /// Event loop iterations since the start.
  package var iterations: UInt64
  /// Microseconds: CPU time of the event loop's thread; longest iteration in the last one to two minutes.
  package var busy: UInt64
  package var longest: UInt64
  /// Bytes of the log, used and allowed.
  package var logUsed: UInt64
  package var logMax: UInt64
  /// Descriptors that the keeper has or will get.
  package var kept: UInt32

  package init(
    pid: UInt32 = 0, software: String = "", address: String = "", uptime: UInt64 = 0, connections: UInt32 = 0,
    observations: UInt32 = 0, delegates: UInt32 = 0, queries: UInt32 = 0, posted: UInt64 = 0,
    delivered: UInt64 = 0, lost: UInt64 = 0, asked: UInt64 = 0, vetoed: UInt64 = 0, holds: UInt32 = 0,
    actions: UInt32 = 0, denied: UInt64 = 0, refused: UInt64 = 0, postedBytes: UInt64 = 0,
    iterations: UInt64 = 0, busy: UInt64 = 0, longest: UInt64 = 0, logUsed: UInt64 = 0, logMax: UInt64 = 0,
    kept: UInt32 = 0
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
    self.actions = actions
    self.denied = denied
    self.refused = refused
    self.postedBytes = postedBytes
    self.iterations = iterations
    self.busy = busy
    self.longest = longest
    self.logUsed = logUsed
    self.logMax = logMax
    self.kept = kept
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      pid: reader.integer(), software: reader.text(), address: reader.text(), uptime: reader.integer(),
      connections: reader.integer(), observations: reader.integer(), delegates: reader.integer(),
      queries: reader.integer(), posted: reader.integer(), delivered: reader.integer(),
      lost: reader.integer(), asked: reader.integer(), vetoed: reader.integer(), holds: reader.integer(),
      actions: reader.integer(), denied: reader.integer(), refused: reader.integer(),
      postedBytes: reader.integer(), iterations: reader.integer(), busy: reader.integer(),
      longest: reader.integer(), logUsed: reader.integer(), logMax: reader.integer(), kept: reader.integer())
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
    buffer.append(actions)
    buffer.append(denied)
    buffer.append(refused)
    buffer.append(postedBytes)
    buffer.append(iterations)
    buffer.append(busy)
    buffer.append(longest)
    buffer.append(logUsed)
    buffer.append(logMax)
    buffer.append(kept)
  }
}

/// What a connection is like at the moment.
package struct ConnectionState: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// In another module, an empty literal takes about 1,000 instructions, because the compiler does not see the
  /// set's implementation there.
  package static var none: ConnectionState { ConnectionState(rawValue: 0) }
  /// The bus does not read from it until slow observers catch up.
  package static let paused = ConnectionState(rawValue: 1)
  /// It reads too slowly, and loses notifications.
  package static let lossy = ConnectionState(rawValue: 2)
  /// It has suspended its notifications.
  package static let suspended = ConnectionState(rawValue: 4)
  /// It would end if the bus died now.
  package static let notSurviving = ConnectionState(rawValue: 8)

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
  /// Without monitors and declarations.
  package var observations: UInt32
  package var delegates: UInt32
  package var queries: UInt32
  /// Unread bytes.
  package var queued: UInt64
  /// Notifications that it lost; that it posted.
  package var lost: UInt64
  package var posted: UInt64
  package var state: ConnectionState
  /// Since it was suspended: bytes buffered; notifications replaced by later ones.
  package var buffered: UInt64
  package var coalesced: UInt64
  /// Bytes of the notifications that it posted; notifications queued for it.
  package var postedBytes: UInt64
  package var delivered: UInt64
  /// Its frames that the policy refused; refused for another reason.
  package var denied: UInt64
  package var refused: UInt64
  /// Queries, with dry runs and value queries.
  package var asked: UInt64
  /// How often it was paused.
  package var pauses: UInt64
  /// Microseconds while paused; while lossy.
  package var pausedTime: UInt64
  package var lossyTime: UInt64

  package init(
    id: ConnectionID, peer: PeerIdentity, age: UInt64, observations: UInt32, delegates: UInt32,
    queries: UInt32, queued: UInt64, lost: UInt64, posted: UInt64, state: ConnectionState,
    buffered: UInt64 = 0, coalesced: UInt64 = 0, postedBytes: UInt64 = 0, delivered: UInt64 = 0,
    denied: UInt64 = 0, refused: UInt64 = 0, asked: UInt64 = 0, pauses: UInt64 = 0, pausedTime: UInt64 = 0,
    lossyTime: UInt64 = 0
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
    self.postedBytes = postedBytes
    self.delivered = delivered
    self.denied = denied
    self.refused = refused
    self.asked = asked
    self.pauses = pauses
    self.pausedTime = pausedTime
    self.lossyTime = lossyTime
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      id: ConnectionID(rawValue: reader.integer()), peer: PeerIdentity(from: &reader), age: reader.integer(),
      observations: reader.integer(), delegates: reader.integer(), queries: reader.integer(),
      queued: reader.integer(), lost: reader.integer(), posted: reader.integer(),
      state: ConnectionState(rawValue: reader.integer()), buffered: reader.integer(),
      coalesced: reader.integer(), postedBytes: reader.integer(), delivered: reader.integer(),
      denied: reader.integer(), refused: reader.integer(), asked: reader.integer(), pauses: reader.integer(),
      pausedTime: reader.integer(), lossyTime: reader.integer())
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
    buffer.append(postedBytes)
    buffer.append(delivered)
    buffer.append(denied)
    buffer.append(refused)
    buffer.append(asked)
    buffer.append(pauses)
    buffer.append(pausedTime)
    buffer.append(lossyTime)
  }
}

/// A connection that has gone, for the subject *departed*.
package struct DepartedEntry: Equatable, Sendable {
  package var id: ConnectionID
  package var peer: PeerIdentity
  /// Microseconds while connected; since it left.
  package var age: UInt64
  package var elapsed: UInt64
  /// The error with which the bus closed it; else 0.
  package var rawReason: UInt16
  /// Notifications that it lost; that it posted.
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
    try self.init(
      id: ConnectionID(rawValue: reader.integer()), peer: PeerIdentity(from: &reader), age: reader.integer(),
      elapsed: reader.integer(), rawReason: reader.integer(), lost: reader.integer(), posted: reader.integer()
    )
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

/// A user's part of a resource that all users share, for the subject *accounts*: one for each user and resource.
package struct AccountEntry: Equatable, Sendable {
  package var uid: UInt32
  /// It gets the share of this many users.
  package var weight: UInt32
  /// Root, or the user that runs the bus.
  package var isPrivileged: Bool
  /// `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`, `protocols`, `queues`,
  /// `unread-files`; later versions can have more.
  package var resource: String
  /// Used by the user; available to it now; available to all: bytes of `partial-frames`, `log`, `retained` and
  /// `queues`, else numbers.
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
    try self.init(
      uid: reader.integer(), weight: reader.integer(), isPrivileged: reader.flag(), resource: reader.text(),
      used: reader.integer(), share: reader.integer(), total: reader.integer())
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

/// A histogram of how long something took; docs/LISTING.md describes its buckets.
package struct Durations: Equatable, Sendable {
  /// Total and longest, in microseconds.
  package var sum: UInt64
  package var longest: UInt64
  /// Bucket of the first count.
  package var first: UInt16
  /// Counts from bucket *first* on.
  package var counts: [UInt32]

  package init(sum: UInt64 = 0, longest: UInt64 = 0, first: UInt16 = 0, counts: [UInt32] = []) {
    self.sum = sum
    self.longest = longest
    self.first = first
    self.counts = counts
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      sum: reader.integer(), longest: reader.integer(), first: reader.integer(),
      counts: reader.integers(max: Int(UInt16.max), "counts"))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(sum)
    buffer.append(longest)
    buffer.append(first)
    buffer.appendFields(counts)
  }
}

/// How many outcomes of each kind there were.
package struct OutcomeCounts: Equatable, Sendable {
  package var approved: UInt64
  package var vetoed: UInt64
  package var abstained: UInt64
  package var timedOut: UInt64
  package var gone: UInt64
  package var failed: UInt64
  package var held: UInt64
  package var answered: UInt64

  package init(
    approved: UInt64 = 0, vetoed: UInt64 = 0, abstained: UInt64 = 0, timedOut: UInt64 = 0, gone: UInt64 = 0,
    failed: UInt64 = 0, held: UInt64 = 0, answered: UInt64 = 0
  ) {
    self.approved = approved
    self.vetoed = vetoed
    self.abstained = abstained
    self.timedOut = timedOut
    self.gone = gone
    self.failed = failed
    self.held = held
    self.answered = answered
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      approved: reader.integer(), vetoed: reader.integer(), abstained: reader.integer(),
      timedOut: reader.integer(), gone: reader.integer(), failed: reader.integer(), held: reader.integer(),
      answered: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(approved)
    buffer.append(vetoed)
    buffer.append(abstained)
    buffer.append(timedOut)
    buffer.append(gone)
    buffer.append(failed)
    buffer.append(held)
    buffer.append(answered)
  }
}

/// How far a query is with a participant.
package enum ParticipantState: UInt8, Sendable, CaseIterable {
  /// Others are asked first.
  case unasked = 0
  /// The question waits until the delegate's connection has fewer open questions.
  case queued = 1
  case asked = 2
  /// The participant has an outcome.
  case settled = 3
}

/// A participant of a query under way.
package struct QueryParticipant: Equatable, Sendable {
  /// 0 for a hold or a missing required delegate.
  package var connection: ConnectionID
  /// As in an outcome.
  package var delegate: DelegateIdentity
  package var state: ParticipantState
  /// If *settled*; else ignored.
  package var outcome: OutcomeKind
  /// Of the outcome.
  package var reason: String
  /// Microseconds that the query has waited for it; until its timeout, 0 unless the query still waits.
  package var elapsed: UInt64
  package var remaining: UInt64

  package init(
    connection: ConnectionID, delegate: DelegateIdentity, state: ParticipantState, outcome: OutcomeKind,
    reason: String, elapsed: UInt64, remaining: UInt64
  ) {
    self.connection = connection
    self.delegate = delegate
    self.state = state
    self.outcome = outcome
    self.reason = reason
    self.elapsed = elapsed
    self.remaining = remaining
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), delegate: DelegateIdentity(from: &reader),
      state: reader.value(), outcome: reader.value(), reason: reader.text(), elapsed: reader.integer(),
      remaining: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    delegate.append(to: buffer)
    buffer.append(state.rawValue)
    buffer.append(outcome.rawValue)
    buffer.appendField(reason)
    buffer.append(elapsed)
    buffer.append(remaining)
  }
}

/// A query, or an action under way or waiting, for the subject *queries*.
package struct QueryEntry: Equatable, Sendable {
  package var id: QueryID
  /// The asker's.
  package var connection: ConnectionID
  /// The asker.
  package var peer: PeerIdentity
  package var name: String
  package var object: String
  package var mode: QueryMode
  package var isDryRun: Bool
  /// Microseconds since it was asked, began or waits; until the asker's deadline, or 0.
  package var age: UInt64
  package var remaining: UInt64
  /// Holds, then delegates in the chain's order: at most 256, awaited ones preferred.
  package var participants: [QueryParticipant]
  /// Participants that are not listed.
  package var omittedCount: UInt32
  package var stage: ActionStage

  package init(
    id: QueryID, connection: ConnectionID, peer: PeerIdentity, name: String, object: String, mode: QueryMode,
    isDryRun: Bool, age: UInt64, remaining: UInt64, participants: [QueryParticipant], omittedCount: UInt32,
    stage: ActionStage = .asked
  ) {
    self.id = id
    self.connection = connection
    self.peer = peer
    self.name = name
    self.object = object
    self.mode = mode
    self.isDryRun = isDryRun
    self.age = age
    self.remaining = remaining
    self.participants = participants
    self.omittedCount = omittedCount
    self.stage = stage
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    id = try QueryID(rawValue: reader.integer())
    connection = try ConnectionID(rawValue: reader.integer())
    peer = try PeerIdentity(from: &reader)
    name = try reader.text()
    object = try reader.text()
    mode = try reader.value()
    isDryRun = try reader.flag()
    age = try reader.integer()
    remaining = try reader.integer()
    participants = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      var record = try reader.record()
      participants.append(try QueryParticipant(from: &record))
    }
    omittedCount = try reader.integer()
    stage = try reader.value()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(id.rawValue)
    buffer.append(connection.rawValue)
    peer.append(to: buffer)
    buffer.appendField(name)
    buffer.appendField(object)
    buffer.append(mode.rawValue)
    buffer.append(isDryRun)
    buffer.append(age)
    buffer.append(remaining)
    buffer.append(UInt32(participants.count))
    // A span lends its elements; an array would copy them.
    let participants = participants.span
    for index in participants.indices {
      buffer.appendRecord { buffer in participants[index].append(to: buffer) }
    }
    buffer.append(omittedCount)
    buffer.append(stage.rawValue)
  }
}

/// Queries under a name, without dry runs, for the subject *names*.
package struct NameEntry: Equatable, Sendable {
  /// Empty for all names beyond the busiest 1,000.
  package var name: String
  /// Verdicts; vetoed ones; allowed by an override; queries without a verdict.
  package var asked: UInt64
  package var vetoed: UInt64
  package var overridden: UInt64
  package var cancelled: UInt64
  package var outcomes: OutcomeCounts
  /// From ask to verdict, if a delegate was asked.
  package var durations: Durations

  package init(
    name: String, asked: UInt64, vetoed: UInt64, overridden: UInt64, cancelled: UInt64,
    outcomes: OutcomeCounts, durations: Durations
  ) {
    self.name = name
    self.asked = asked
    self.vetoed = vetoed
    self.overridden = overridden
    self.cancelled = cancelled
    self.outcomes = outcomes
    self.durations = durations
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      name: reader.text(), asked: reader.integer(), vetoed: reader.integer(), overridden: reader.integer(),
      cancelled: reader.integer(), outcomes: OutcomeCounts(from: &reader), durations: Durations(from: &reader)
    )
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(name)
    buffer.append(asked)
    buffer.append(vetoed)
    buffer.append(overridden)
    buffer.append(cancelled)
    outcomes.append(to: buffer)
    durations.append(to: buffer)
  }
}

/// What a participant takes part in.
package enum ParticipantRole: UInt8, Sendable, CaseIterable {
  /// It answers queries.
  case delegate = 0
  /// It handles awaited notifications.
  case observer = 1
}

/// How the delegates or awaited observers of one user, unit and label answered, for the subject *participants*.
package struct ParticipantEntry: Equatable, Sendable {
  package var role: ParticipantRole
  /// Empty if it has none; observers have no label.
  package var label: String
  package var unit: String
  /// 4294967295 for all entries beyond the busiest 1,000.
  package var uid: UInt32
  /// *answered*: an observer has handled the notification.
  package var outcomes: OutcomeCounts
  /// From question or notification to outcome.
  package var durations: Durations

  package init(
    role: ParticipantRole, label: String, unit: String, uid: UInt32, outcomes: OutcomeCounts,
    durations: Durations
  ) {
    self.role = role
    self.label = label
    self.unit = unit
    self.uid = uid
    self.outcomes = outcomes
    self.durations = durations
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      role: reader.value(), label: reader.text(), unit: reader.text(), uid: reader.integer(),
      outcomes: OutcomeCounts(from: &reader), durations: Durations(from: &reader))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(role.rawValue)
    buffer.appendField(label)
    buffer.appendField(unit)
    buffer.append(uid)
    outcomes.append(to: buffer)
    durations.append(to: buffer)
  }
}

/// What the processes of a user in a unit did, for the subject *users*.
package struct UserEntry: Equatable, Sendable {
  /// 4294967295 for all entries beyond the busiest 1,000.
  package var uid: UInt32
  /// Empty if it has none.
  package var unit: String
  /// At the moment.
  package var connections: UInt32
  /// Notifications that they posted; their bytes.
  package var posted: UInt64
  package var postedBytes: UInt64
  /// Notifications queued for them; that they lost.
  package var delivered: UInt64
  package var lost: UInt64
  /// Queries, with dry runs and value queries.
  package var asked: UInt64
  /// Frames that the policy refused; refused for another reason.
  package var denied: UInt64
  package var refused: UInt64

  package init(
    uid: UInt32, unit: String, connections: UInt32, posted: UInt64, postedBytes: UInt64, delivered: UInt64,
    lost: UInt64, asked: UInt64, denied: UInt64, refused: UInt64
  ) {
    self.uid = uid
    self.unit = unit
    self.connections = connections
    self.posted = posted
    self.postedBytes = postedBytes
    self.delivered = delivered
    self.lost = lost
    self.asked = asked
    self.denied = denied
    self.refused = refused
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      uid: reader.integer(), unit: reader.text(), connections: reader.integer(), posted: reader.integer(),
      postedBytes: reader.integer(), delivered: reader.integer(), lost: reader.integer(),
      asked: reader.integer(), denied: reader.integer(), refused: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(uid)
    buffer.appendField(unit)
    buffer.append(connections)
    buffer.append(posted)
    buffer.append(postedBytes)
    buffer.append(delivered)
    buffer.append(lost)
    buffer.append(asked)
    buffer.append(denied)
    buffer.append(refused)
  }
}

/// A verdict of a bus that writes to no journal, for the subject *verdicts*.
package struct PastVerdict: Equatable, Sendable {
  /// The asker's.
  package var connection: ConnectionID
  /// Grows from 1 with each verdict of this daemon.
  package var number: UInt64
  /// Microseconds since the verdict.
  package var age: UInt64
  /// `NAME=VALUE`, as the journal would have them.
  package var fields: [String]

  package init(connection: ConnectionID, number: UInt64, age: UInt64, fields: [String]) {
    self.connection = connection
    self.number = number
    self.age = age
    self.fields = fields
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), number: reader.integer(), age: reader.integer(),
      fields: reader.texts(max: Int(UInt16.max), "fields"))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.append(number)
    buffer.append(age)
    buffer.appendFields(fields)
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
  case access(AccessEntry)
  case nearMiss(NearMissEntry)
  case ending(EndingEntry)
  case departed(DepartedEntry)
  case account(AccountEntry)
  case query(QueryEntry)
  case name(NameEntry)
  case participant(ParticipantEntry)
  case user(UserEntry)
  case verdict(PastVerdict)

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
    case query = 15
    case name = 16
    case participant = 17
    case user = 18
    case verdict = 19
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
    case .query: self = .query(try QueryEntry(from: &reader))
    case .name: self = .name(try NameEntry(from: &reader))
    case .participant: self = .participant(try ParticipantEntry(from: &reader))
    case .user: self = .user(try UserEntry(from: &reader))
    case .verdict: self = .verdict(try PastVerdict(from: &reader))
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
    case .query(let content):
      buffer.append(Tag.query.rawValue)
      content.append(to: buffer)
    case .name(let content):
      buffer.append(Tag.name.rawValue)
      content.append(to: buffer)
    case .participant(let content):
      buffer.append(Tag.participant.rawValue)
      content.append(to: buffer)
    case .user(let content):
      buffer.append(Tag.user.rawValue)
      content.append(to: buffer)
    case .verdict(let content):
      buffer.append(Tag.verdict.rawValue)
      content.append(to: buffer)
    }
  }
}

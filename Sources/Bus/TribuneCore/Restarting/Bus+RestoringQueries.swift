// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols
package import TribuneWire

/// Restores queries. The connection and the serial of the `attach` identify the delegate of a participant. If
/// the replay has attached this delegate, the query continues with it. Otherwise, the query gets a
/// substitute, which `finishRestoring` settles as `gone`.
extension Bus {
  private enum StateTag: UInt8 {
    case unasked, waiting, settled
  }

  // MARK: Writing

  func append(queryAt place: Int, to buffer: ByteBuffer) {
    let (query, tail) = (queries[place], queries.tail(at: place))
    buffer.append(query.id.rawValue)
    buffer.append(query.asker.id.rawValue)
    buffer.append(query.asker.serial)
    query.ask.append(to: buffer)
    buffer.append(query.started.nanoseconds)
    buffer.append(query.deadline.nanoseconds)
    buffer.append(query.nextExpiry.nanoseconds)
    buffer.append(UInt64(query.answerByteCount))
    tail.append(to: buffer)
    buffer.append(UInt32(query.standing.count))
    for outcome in query.standing { buffer.appendRecord { outcome.append(to: $0) } }
    buffer.append(UInt32(query.participants.count))
    for participant in query.participants { buffer.appendRecord { Self.append(participant, to: $0) } }
    buffer.append(UInt32(query.omittedHolds))
  }

  private static func append(_ participant: Query.Participant, to buffer: ByteBuffer) {
    let delegate = participant.delegate
    buffer.append(delegate.connection.rawValue)
    buffer.append(delegate.serial)
    buffer.append(participant.failurePolicy.rawValue)
    delegate.identity.append(to: buffer)
    buffer.append(participant.wasAsked)
    buffer.append(participant.asked.nanoseconds)
    buffer.append(participant.elapsedNanoseconds)
    switch participant.state {
    case .unasked: buffer.append(StateTag.unasked.rawValue)
    case .waiting(let until):
      buffer.append(StateTag.waiting.rawValue)
      buffer.append(until.nanoseconds)
    case .settled(let outcome, let reason):
      buffer.append(StateTag.settled.rawValue)
      buffer.append(outcome.rawValue)
      buffer.appendField(reason)
      buffer.appendBytesField(participant.value)
    }
    buffer.append(participant.hasTurn)
  }

  // MARK: Reading

  /// Restores a query, even beyond the limits for new queries. Cuts its deadline to the longest permitted
  /// one. If this method throws, the bus is unchanged.
  package mutating func restoreQuery(_ fields: RawSpan, at now: Instant) throws(WireError) {
    var reader = FieldReader(fields)
    let id = QueryID(rawValue: try reader.integer())
    let askerID = ConnectionID(rawValue: try reader.integer())
    let serial: Serial = try reader.integer()
    let ask = try Ask(from: &reader)
    let started = Instant(nanoseconds: try reader.integer())
    let latest = now.advanced(byMilliseconds: limits.deadlineMax)
    let deadline = min(Instant(nanoseconds: try reader.integer()), latest)
    let nextExpiry = Instant(nanoseconds: try reader.integer())
    let answerByteCount: UInt64 = try reader.integer()
    let tail = try QueryTail(from: &reader)

    var standing: [Outcome] = []
    for _ in 0..<Int(try reader.integer(UInt32.self)) {
      var record = try reader.record()
      standing.append(try Outcome(from: &record))
    }
    var participants: [Query.Participant] = []
    var ids: Set<UInt64> = []
    for _ in 0..<Int(try reader.integer(UInt32.self)) {
      var record = try reader.record()
      let participant = try self.participant(from: &record, before: deadline)
      let delegate = participant.delegate.identity.id.rawValue
      guard ids.insert(delegate).inserted else {
        throw WireError(.invalidValue, "delegate \(delegate) takes part twice in query \(id.rawValue)")
      }
      participants.append(participant)
    }
    let omittedHolds = Int(try reader.integer(UInt32.self))

    try requireValidID(id.rawValue)
    guard queries.place(of: id) == nil else {
      throw WireError(.duplicateSerial, "query \(id.rawValue) is already under way")
    }
    guard let slot = connections[askerID] else {
      throw WireError(.notFound, "the asker of query \(id.rawValue), \(askerID), is not connected")
    }
    try requireFresh(serial, from: slot)
    guard !ask.mode.isForValues || standing.isEmpty else {
      throw WireError(.invalidValue, "query \(id.rawValue) is for values and has holds against it")
    }
    let answerByteCountMax = fields.byteCount + participants.count * WireLimits.reasonLength
    guard answerByteCount <= UInt64(answerByteCountMax) else {
      throw WireError(.invalidValue, "query \(id.rawValue) cannot have \(answerByteCount) bytes of answers")
    }
    var query = Query(
      id: id, asker: Query.Asker(slot: slot, id: askerID, peer: connections[slot].peer, serial: serial), ask,
      started: started, deadline: deadline)
    query.add(Standing(outcomes: standing, omittedHolds: omittedHolds))
    var restored = query
    restored.restore(participants, answerByteCount: Int(answerByteCount), nextExpiry: nextExpiry)
    guard !restored.isDecided(), restored.hasAskedInOrder else {
      throw WireError(
        .invalidValue, "query \(id.rawValue) is decided, or its participants contradict its mode")
    }
    query.method = method(of: tail, for: ask.mode.isForValues ? .query : .ask)

    // From here on, this method must not throw.
    raiseHighest(query: id.rawValue)
    for id in ids { raiseHighest(delegate: id) }
    let place = queries.insert(
      query, tail: tail.slice.bytes, nameLength: tail.nameLength, objectLength: tail.objectLength)
    queries[place].restore(participants, answerByteCount: Int(answerByteCount), nextExpiry: nextExpiry)
    if !ask.flags.contains(.isDryRun) {
      queries[place].tally = tally(ofName: tail.nameText, for: connections[slot].peer.uid)
    }
    queries.setDue(queries[place].nextExpiry, at: place, &deadlines)
    let account = connections[slot].account
    for participant in participants {
      guard case .waiting = participant.state else { continue }
      participant.delegate.beginWaiting(id)
      if participant.hasTurn {
        participant.delegate.inbox.turns.value.restoreSent(
          of: account.uid, isPrivileged: account.isPrivileged)
      }
      if !participant.delegate.isAttached { restoring.unresolved.append(participant.delegate) }
    }
    connections[slot].queries[serial] = id
    connections[slot].participantCount += participants.count
    let rememberedBytes = rememberedLength(
      ask, keyLength: tail.nameLength + tail.objectLength, participants.map(\.delegate), standing)
    let exemptBytes = exemptLength(ofKept: tail.payloadLength, beside: rememberedBytes, from: slot)
    queries[place].rememberedByteCount = rememberedBytes
    queries[place].exemptByteCount = exemptBytes
    beginRemembering(rememberedBytes, kept: tail.payloadLength, exempt: exemptBytes, of: slot)
    countAnswers(Int(answerByteCount), to: slot)
  }

  private mutating func participant(
    from reader: inout FieldReader, before deadline: Instant
  ) throws(WireError) -> Query.Participant {
    let connection = ConnectionID(rawValue: try reader.integer())
    let serial: Serial = try reader.integer()
    let policy: FailurePolicy = try reader.value()
    let identity = try DelegateIdentity(from: &reader)
    try requireValidID(identity.id.rawValue)
    var participant = Query.Participant(
      delegate: delegate(identity, of: connection, under: serial, failing: policy), failurePolicy: policy)
    participant.wasAsked = try reader.flag()
    participant.asked = Instant(nanoseconds: try reader.integer())
    participant.elapsedNanoseconds = try reader.integer()
    switch try reader.value(StateTag.self) {
    case .unasked: participant.state = .unasked
    case .waiting:
      participant.state = .waiting(until: min(Instant(nanoseconds: try reader.integer()), deadline))
    case .settled:
      participant.state = .settled(try reader.value(), reason: try reader.text())
      participant.value = try reader.byteArray()
    }
    let isWaiting = if case .waiting = participant.state { true } else { false }
    participant.hasTurn = try reader.flag()
    guard !participant.hasTurn || participant.wasAsked && isWaiting else {
      throw WireError(
        .invalidValue, "a question has its turn that delegate \(identity.id.rawValue) has not open")
    }
    return participant
  }

  private mutating func delegate(
    _ identity: DelegateIdentity, of id: ConnectionID, under serial: Serial, failing policy: FailurePolicy
  ) -> DelegateRegistration {
    if let slot = connections[id], let delegate = connections[slot].delegates[serial],
      delegate.identity.id == identity.id
    {
      return delegate
    }
    let gone = DelegateRegistration(
      identity: identity, connection: id, slot: .nowhere, serial: serial, object: "", order: 0,
      failurePolicy: policy, timeout: 0, patterns: [], inbox: QuestionInbox(of: .nowhere),
      tally: tallies.participants.tally(
        of: ParticipantKey(.delegate, identity.peer, label: identity.label), for: identity.peer.uid))
    gone.isAttached = false
    return gone
  }

  private mutating func method(of tail: QueryTail, for use: Use) -> ProtocolMethod? {
    let object = tail.objectText
    guard let linked = declarations.linked(for: object.utf8Bytes),
      let method = linked.method(named: tail.nameText), use.admits(method.kind)
    else { return nil }
    return method
  }

  mutating func settleUnresolved(at now: Instant) {
    var gone: [DelegateRegistration] = []
    swap(&gone, &restoring.unresolved)
    settleGone(gone, at: now)
  }
}

extension ConnectionSlot {
  static let nowhere = ConnectionSlot(index: .max)
}

extension Query {
  /// True if the states of the participants are possible in the mode. In a parallel mode, the bus has asked
  /// all participants, and the query waits for at least one. In a sequential mode, the query waits for one
  /// participant, and unasked participants come last. If the deadline came between two participants, the
  /// query waits for neither, and is about to end.
  fileprivate var hasAskedInOrder: Bool {
    guard ask.mode.isSequential else { return waitingCount > 0 && next == participants.count }
    return (waitingCount == 1 || waitingCount == 0 && next < participants.count)
      && participants[next...].allSatisfy { if case .unasked = $0.state { true } else { false } }
  }
}

extension QueryTail {
  func append(to buffer: ByteBuffer) {
    buffer.append(UInt8(nameLength))
    buffer.append(UInt8(objectLength))
    buffer.appendBytesField(slice.bytes)
  }

  /// - Parameter attachment: the file with the userInfo, if `reader` does not contain the userInfo.
  init(from reader: inout FieldReader, attachment: (any AttachedFile)? = nil) throws(WireError) {
    nameLength = Int(try reader.integer(UInt8.self))
    objectLength = Int(try reader.integer(UInt8.self))
    let bytes = try reader.bytesField()
    guard nameLength + objectLength <= bytes.byteCount else {
      throw WireError(
        .malformedFrame,
        "a name of \(nameLength) bytes and an object of \(objectLength) are longer than the field")
    }
    let name = bytes.extracting(first: nameLength)
    try name.requireName()
    try name.requireUnreservedName()
    try bytes.extracting(nameLength..<nameLength + objectLength).requireObject()
    slice = ByteSlice(ByteBuffer(holding: bytes, attachment: attachment), 0..<bytes.byteCount)
  }
}

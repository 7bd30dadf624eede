// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Bus {
  // MARK: Delegates

  mutating func attach(_ frame: FrameView, from slot: ConnectionSlot) throws(WireError) {
    let fields = try frame.decode(Attach.self)
    let serial = frame.header.serial
    try frame.object.requireObject()
    let object = String(repairing: frame.object)
    guard !fields.patterns.isEmpty else {
      throw WireError(.invalidPattern, "a delegate responds to one name at least")
    }
    guard fields.label.utf8.count <= WireLimits.labelLength else {
      throw WireError(.limitExceeded, "a label has at most \(WireLimits.labelLength) bytes")
    }
    var patterns: [Pattern] = []
    for text in fields.patterns { patterns.append(try Pattern(text)) }
    try requireFresh(serial, from: slot)

    let connection = connection(at: slot)
    let likeness = DelegateRegistration.likeness(
      object: object, patterns: patterns, label: fields.label)
    if let existing = connection.likenesses[likeness] {
      let delegate = existing.identity.id.rawValue
      emit(.okay(slot, serial, Okay(registration: existing.serial, delegate: delegate)))
      return
    }
    guard connection.delegates.count < limits.delegatesMax else {
      throw WireError(.limitExceeded, "a connection can have \(limits.delegatesMax) delegates")
    }
    let delegate = DelegateRegistration(
      identity: DelegateIdentity(id: makeDelegateID(), label: fields.label, peer: connection.peer),
      connection: connection.id, slot: slot, serial: serial, object: object, order: fields.order,
      failurePolicy: fields.failurePolicy,
      timeout: fields.timeout == 0 ? limits.delegateTimeout : fields.timeout, patterns: patterns)
    chains.insert(delegate)
    connections[slot.index]?.delegates[serial] = delegate
    connections[slot.index]?.likenesses[likeness] = delegate
    emit(.okay(slot, serial, Okay(registration: serial, delegate: delegate.identity.id.rawValue)))
  }

  // MARK: Queries

  mutating func ask(
    _ frame: FrameView, in slice: ByteSlice, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let fields = try frame.decode(Ask.self)
    let header = frame.header
    try frame.name.requireName()
    try frame.object.requireObject()
    guard !NameSyntax.isReserved(frame.name) else {
      throw WireError(.reservedName, "only the bus speaks under \(NameSyntax.reservedPrefix)")
    }
    guard fields.deadline <= limits.deadlineMax else {
      throw WireError(
        .invalidValue, "a deadline of \(fields.deadline) ms is over the limit of \(limits.deadlineMax) ms")
    }
    try requireFresh(header.serial, from: slot)
    guard connection(at: slot).queries.count < limits.queriesMax else {
      throw WireError(.limitExceeded, "a connection can have \(limits.queriesMax) queries under way")
    }

    let deadline = fields.deadline == 0 ? limits.deadline : fields.deadline
    let query = Query(
      id: makeQueryID(), asker: slot, askerID: connection(at: slot).id,
      askerPeer: connection(at: slot).peer, serial: header.serial, mode: fields.mode,
      fallback: fields.fallback, deadline: now.advanced(byMilliseconds: deadline))
    // Only a query in order has a use for the userInfo after this pass.
    let kept = fields.mode == .order ? header.frameLength : header.payloadStart
    let place = queries.insert(
      query, tail: frame.bytes.extracting(header.nameStart..<kept), nameLength: header.nameLength,
      objectLength: header.objectLength)
    chains.forEach(respondingTo: frame.name, object: frame.object) { delegate in
      queries[place].participants.append(.init(delegate: delegate))
    }
    let participantCount = queries[place].participants.count
    guard connection(at: slot).participantCount + participantCount <= limits.participantsMax else {
      queries.remove(at: place)
      throw WireError(
        .limitExceeded,
        "the queries of a connection can be put to \(limits.participantsMax) delegates in all at a time")
    }
    connections[slot.index]?.participantCount += participantCount
    connections[slot.index]?.queries[header.serial] = query.id

    let start = slice.range.lowerBound
    let tail = QueryTail(
      slice: ByteSlice(slice.buffer, start + header.nameStart..<start + header.frameLength),
      nameLength: header.nameLength, objectLength: header.objectLength)
    proceed(place, tail: tail, at: now)
  }

  mutating func answer(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let fields = try frame.decode(Answer.self)
    let (place, index) = try waiting(fields.query, fields.delegate, from: slot)
    let outcome: OutcomeKind =
      switch fields.answer {
      case .approve: .approved
      case .veto: .vetoed
      case .abstain: .abstained
      case .failed: .failed
      }
    queries[place].settle(index, outcome, reason: frame.text(), at: now)
    proceed(place, tail: nil, at: now)
  }

  mutating func deferAnswer(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let fields = try frame.decode(Defer.self)
    let (place, index) = try waiting(fields.query, fields.delegate, from: slot)
    let until = queries[place].extend(index, to: now.advanced(byMilliseconds: fields.extensionTime))
    queries.setDue(queries[place].nextExpiry, at: place)
    let progress = Progress(
      query: fields.query, delegate: queries[place].participants[index].delegate.identity,
      timeout: until.milliseconds(since: now))
    emit(.progress(queries[place].asker, queries[place].serial, progress, status: frame.text()))
  }

  /// Where the bus waits for that delegate in that query.
  ///
  /// - Throws: `notAsked` when it does not, or not for this connection: it never asked, it has the
  ///   answer already, or the query is over.
  private func waiting(
    _ query: QueryID, _ delegate: DelegateID, from slot: ConnectionSlot
  ) throws(WireError) -> (place: Int, participant: Int) {
    guard let place = queries.place(of: query),
      let index = queries[place].waitingIndex(of: delegate),
      queries[place].participants[index].delegate.slot == slot
    else {
      throw WireError(
        .notAsked, "nobody waits for delegate \(delegate.rawValue) in query \(query.rawValue)")
    }
    return (place, index)
  }

  // MARK: Time

  /// Does what is due at `now`.
  package mutating func advance(to now: Instant) {
    while let place = queries.firstDue(at: now) {
      queries[place].expire(at: now)
      proceed(place, tail: nil, at: now)
    }
  }

  // MARK: Going on

  /// Asks whom there is to ask, and ends the query when it is decided.
  ///
  /// - Parameter tail: what the questions carry; nil for what the table has kept.
  private mutating func proceed(_ place: Int, tail: QueryTail?, at now: Instant) {
    var asked = false
    while let index = queries[place].takeNext(at: now) {
      asked = true
      let participant = queries[place].participants[index]
      let delegate = participant.delegate
      guard case .waiting(let until) = participant.state else {
        preconditionFailure("asked, but not waiting")
      }
      let question = Question(
        query: queries[place].id, delegate: delegate.identity.id,
        timeout: until.milliseconds(since: now), asker: queries[place].askerPeer)
      emit(
        .question(
          delegate.slot, delegate.serial, asker: queries[place].askerID, question,
          tail ?? queries.tail(at: place)))
    }
    if queries[place].isDecided {
      conclude(place)
    } else if asked || queries.nextDue.map({ $0 <= now }) == true {
      queries.setDue(queries[place].nextExpiry, at: place)
    }
  }

  private mutating func conclude(_ place: Int) {
    let verdict = queries[place].verdict
    countVerdict(verdict.verdict)
    emit(.verdict(queries[place].asker, queries[place].serial, verdict, queries.tail(at: place)))
    end(place, verdict.verdict == .allowed ? .allowed : .vetoed)
  }

  /// Ends a query without a verdict.
  mutating func cancel(_ query: QueryID) {
    guard let place = queries.place(of: query) else { preconditionFailure("query \(query.rawValue) is over") }
    end(place, .cancelled)
  }

  /// Ends every query without a verdict.
  package mutating func cancelQueries() {
    for place in queries.allPlaces { end(place, .cancelled) }
  }

  /// Tells everyone who was asked how it ended, and takes the query out.
  private mutating func end(_ place: Int, _ conclusion: ConclusionKind) {
    let id = queries[place].id
    for participant in queries[place].participants where participant.wasAsked {
      let delegate = participant.delegate
      guard delegate.isAttached else { continue }
      let concluded = Concluded(query: id, delegate: delegate.identity.id, conclusion: conclusion)
      emit(.concluded(delegate.slot, delegate.serial, concluded))
    }
    let asker = queries[place].asker.index
    connections[asker]?.queries[queries[place].serial] = nil
    connections[asker]?.participantCount -= queries[place].participants.count
    queries.remove(at: place)
  }

  /// Settles every question to a delegate that has gone.
  mutating func settleGone(at now: Instant) {
    for place in queries.allPlaces {
      queries[place].settleGone(at: now)
      proceed(place, tail: nil, at: now)
    }
  }

  // MARK: Looking at it

  /// The delegates that a query would be put to now, in order.
  package func chain(name: RawSpan, object: RawSpan) throws(WireError) -> [DelegateEntry] {
    try name.requireName()
    try object.requireObject()
    var entries: [DelegateEntry] = []
    chains.forEach(respondingTo: name, object: object) { entries.append($0.entry) }
    return entries
  }

  /// All delegates, or those of one connection, in the order of attaching.
  package func delegateEntries(of connection: UInt64) -> [DelegateEntry] {
    connections.lazy.compactMap { $0 }
      .filter { connection == 0 || $0.id.rawValue == connection }
      .flatMap { $0.delegates.values }
      .sorted { $0.identity.id < $1.identity.id }
      .map(\.entry)
  }

  /// All observations, or those of one connection, by connection and then by serial.
  package func observationEntries(of connection: UInt64) -> [ObservationEntry] {
    connections.lazy.compactMap { $0 }
      .filter { connection == 0 || $0.id.rawValue == connection }
      .sorted { $0.id < $1.id }
      .flatMap { connection in
        connection.observations.sorted { $0.key < $1.key }
          .map { _, observation in
            ObservationEntry(
              connection: connection.id, pattern: observation.pattern.text,
              object: observation.object ?? "")
          }
      }
  }

  /// How much one connection has registered and asked.
  package func counts(
    at slot: ConnectionSlot
  ) -> (observations: Int, delegates: Int, queries: Int) {
    let connection = connection(at: slot)
    return (connection.registrationCount, connection.delegates.count, connection.queries.count)
  }

  /// Name and object of a query under way, for a monitor.
  package func tail(of query: QueryID) -> QueryTail? {
    queries.place(of: query).map { queries.tail(at: $0) }
  }
}

extension FrameView {
  /// The payload as a reason or a status, cut at the limit.
  fileprivate func text() -> String {
    let length = min(payload.byteCount, WireLimits.reasonLength)
    return String(repairing: payload.extracting(first: length)).prefix(utf8Length: WireLimits.reasonLength)
  }
}

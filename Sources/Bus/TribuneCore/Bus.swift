// SPDX-License-Identifier: Apache-2.0

package import TribunePolicy
package import TribuneWire

/// The bus as a value, without I/O and without a clock. Frames and the time go in, and effects come out.
///
/// The server itself forwards posts that need only immediate delivery, without a call of `receive`.
///
/// Getters and checks on the hot path are mutating. For a non-mutating method, Swift would copy all fields of
/// the bus, which takes about 130 instructions.
package struct Bus: ~Copyable {
  package var limits: BusLimits { didSet { accounts.apply(limits) } }
  package var policy = BusPolicy()
  var access: Access
  var center: NotificationCenter
  var connections = ConnectionTable()
  var monitors: Monitors
  var chains: DelegateChains
  var holds: Holds
  var actions = Actions()
  var declarations: Declarations
  var deadlines = Deadlines<Due>()
  var queries = QueryTable()
  var postings = PostingQueue()
  var retained: RetainedNotifications
  var awaitedPosts = AwaitedPosts()
  package let accounts: Accounts
  var suspensions = Suspensions()
  /// Connections that must read earlier questions before the bus sends further ones (`popUnreadInbox`).
  var unreadInboxes: [ConnectionSlot] = []
  package internal(set) var totals = Totals()
  var tallies = Tallies()
  var ids = (queries: IDSequence(), delegates: IDSequence())
  var restoring = Restoring()
  var effects = Batch<Effect>()
  private var isStopping = false

  package struct Totals {
    /// The number of verdicts on questions for permission, without dry runs.
    package internal(set) var asked: UInt64 = 0
    package internal(set) var vetoed: UInt64 = 0
  }

  struct Suspensions {
    var byteCount = 0
    var slots: [ConnectionSlot] = []
  }

  struct Restoring {
    /// True during a replay. The bus then does not check frames against the current policy and declarations.
    var isReplaying = false
    var unresolved: [DelegateRegistration] = []
  }

  /// - Parameter seed: seeds the hash tables. Peers must not be able to guess the seed.
  package init(
    limits: BusLimits, seed: UInt64, accounts: Accounts, payloadCheck: PayloadCheck, access: AccessRules
  ) {
    self.limits = limits
    self.access = Access(access)
    self.accounts = accounts
    accounts.apply(limits)
    retained = RetainedNotifications(accounts)
    center = NotificationCenter(seed: seed)
    monitors = Monitors(seed: ~seed)
    chains = DelegateChains(seed: seed &+ 1)
    holds = Holds(seed: seed &+ 2)
    declarations = Declarations(seed: seed &+ 3, payloadCheck)
  }

  package var observationCount: Int { center.observationCount }
  package var delegateCount: Int { chains.count }
  package var holdCount: Int { holds.count }
  package var queryCount: Int { queries.count }
  package var actionCount: Int { actions.count }
  package var changeCount: UInt64 {
    center.changeCount &+ chains.changeCount &+ holds.changeCount &+ declarations.changeCount &+ totals.asked
  }
  package var isObserved: Bool { center.isBusObserved && !isStopping }

  package var nextAdvance: Instant? {
    mutating get { deadlines.nextDue }
  }

  package var nextDeadline: Instant? {
    mutating get {
      var next = deadlines.nextDue
      if let due = postings.nextDue { next = min(next ?? due, due) }
      return next
    }
  }

  /// Moves the effects into `drained`. The caller must perform the effects in the order of this batch.
  ///
  /// - Parameter drained: an empty batch, whose memory the bus reuses.
  package mutating func takeEffects(_ drained: inout Batch<Effect>) {
    precondition(drained.isEmpty)
    swap(&effects, &drained)
  }

  // MARK: Connections

  package mutating func connect(
    _ slot: ConnectionSlot, id: ConnectionID, peer: PeerIdentity, subject: Subject
  ) {
    let account = accounts.account(of: peer.uid)
    account.charges.connectionCount += 1
    connections.insert(Connection(id: id, peer: peer, subject: subject, account: account), at: slot)
    access.insert(subject, at: slot)
    announce(.didConnect(id, peer))
  }

  package mutating func disconnect(
    _ slot: ConnectionSlot, because reason: ErrorCode? = nil, at now: Instant
  ) {
    let connection = connections[slot]
    for observation in connection.observations.values { center.remove(observation, slot: slot) }
    for registration in connection.monitors.values { monitors.remove(registration, slot: slot) }
    let delegates = connection.delegates.values.sorted { $0.identity.id < $1.identity.id }
    for delegate in delegates { leave(delegate) }
    for hold in connection.holds.values.sorted(by: { $0.identity.id < $1.identity.id }) {
      leave(hold, at: now)
    }
    for action in connection.actions.values.sorted(by: { $0.id < $1.id }) { leave(action, at: now) }
    for declaration in connection.declarations.values { forget(declaration) }
    for id in connection.queries.values.sorted() { cancel(id, at: now) }
    for number in connection.awaitedPosts.values.sorted() { forget(awaitedPost: number) }
    failUnacknowledged(by: slot, at: now)
    forgetBuffered(for: slot)
    closeAccount(of: slot)
    connections.remove(at: slot)
    access.remove(at: slot)
    settleGone(delegates, at: now)
    clear(connection.bound.values.sorted { $0.number < $1.number }, at: now)
    announce(.didDisconnect(connection.id, connection.peer, reason: reason))
  }

  /// Ends awaited posts and queries before the bus exits. Posters that wait get no reply, because a reply
  /// would wrongly report the observers that are still busy as `gone`.
  package mutating func stop(at now: Instant) {
    resumeAll()
    for number in awaitedPosts.numbers { forget(awaitedPost: number) }
    announce(.willStop)
    isStopping = true
    for place in queries.allPlaces { end(place, .cancelled, at: now) }
  }

  // MARK: Notifications

  /// - Parameter key: the name and the object, contiguous as in the frame.
  package mutating func receivers(
    of key: RawSpan, nameLength: Int, from poster: ConnectionSlot?
  ) throws(WireError) -> (receivers: [Receiver], isNewRoute: Bool) {
    let route = try center.route(of: key, nameLength: nameLength, access)
    if let poster {
      try requirePermission(.post, on: key, nameLength: nameLength, route: route.index, from: poster)
    }
    return (center.receivers(atRoute: route.index), route.isNew)
  }

  // MARK: Frames

  /// Handles a frame. A delegate's answer after its timeout still counts until `advance` records the timeout.
  ///
  /// - Parameter slice: the bytes of the frame. Effects refer to them without a copy.
  /// - Throws: only errors that close the connection. Other errors become `refusal` effects.
  package mutating func receive(
    _ frame: FrameView, in slice: ByteSlice, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) -> Receipt {
    try take(frame, in: slice, from: slot, nil, at: now)
  }

  /// - Parameter context: further facts about the frame from the log, if any. nil outside a replay.
  mutating func take(
    _ frame: FrameView, in slice: ByteSlice, from slot: ConnectionSlot, _ context: LoggedContext?,
    at now: Instant
  ) throws(WireError) -> Receipt {
    var acceptance = Acceptance()
    do throws(WireError) {
      switch frame.header.kind {
      case .observe, .monitor, .attach, .hold, .amend, .declare:
        acceptance = try register(frame, from: slot, context, at: now)
      case .post: try post(frame, in: slice, from: slot, at: now)
      case .suspend: try suspend(frame, from: slot)
      case .done: try acknowledge(frame, from: slot, at: now)
      case .ask: acceptance.query = try ask(frame, in: slice, from: slot, at: now)
      case .begin: acceptance.query = try begin(frame, from: slot, at: now)
      case .answer: acceptance.context = try answer(frame, from: slot, context, at: now)
      case .defer: try deferAnswer(frame, from: slot, at: now)
      case .cancel: try cancel(frame, from: slot, at: now)
      default: return .unknownKind
      }
    } catch {
      guard !error.code.closesConnection else { throw error }
      emit(.refusal(slot, frame.header.serial, error))
      return .refused(error)
    }
    return .accepted(acceptance)
  }

  mutating func observe(_ frame: FrameView, from slot: ConnectionSlot, at now: Instant) throws(WireError) {
    let fields = try frame.decode(Observe.self)
    let serial = frame.header.serial
    let pattern = try frame.pattern()
    try frame.object.requireOneObject()
    let object = frame.object.byteCount == 0 ? nil : String(repairing: frame.object)
    try requireCapacity(for: serial, from: slot)
    let tokenCount = pattern.tokenCount
    try requireCapacity(forTokens: tokenCount, from: slot)
    try requirePermission(.observe, on: [pattern], object: object ?? "", from: slot)
    let observation = NotificationCenter.Observation(
      pattern: pattern, object: object, suspension: fields.suspension,
      isAwaited: fields.options.contains(.awaited))
    center.add(observation, slot: slot)
    connections[slot].observations[serial] = observation
    connections[slot].tokenCount += tokenCount
    let kept = fields.options.contains(.retained) ? snapshot(of: observation, for: slot) : []
    emit(.okay(slot, serial, Okay(registration: serial, retained: UInt32(clamping: kept.count))))
    guard fields.options.contains(.retained) else { return }
    // Send buffered notifications first: after the snapshot, an old buffered one would seem to be the newest.
    emitBuffered(for: slot)
    if !kept.isEmpty { emit(.snapshot(slot, serial, kept)) }
  }

  mutating func requireCapacity(for serial: Serial, from slot: ConnectionSlot) throws(WireError) {
    try requireFresh(serial, from: slot)
    guard connections[slot].registrationCount < limits.observationsMax else {
      throw WireError(
        limit: "\(limits.observationsMax) observations and declarations per connection",
        setting: "ObservationsMax=")
    }
  }

  mutating func requireCapacity(forTokens count: Int, from slot: ConnectionSlot) throws(WireError) {
    guard connections[slot].tokenCount + count <= limits.observationTokensMax else {
      throw WireError(
        limit: "\(limits.observationTokensMax) tokens in a connection's observed patterns",
        setting: "ObservationsMax=")
    }
  }

  @inline(__always) func requireFresh(_ serial: Serial, from slot: ConnectionSlot) throws(WireError) {
    guard serial != 0 else { throw WireError(.invalidValue, "the serial must not be 0") }
    guard !connections[slot].uses(serial) else {
      throw WireError(.duplicateSerial, "serial \(serial) is already in use")
    }
  }

  private mutating func cancel(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let target = try frame.decode(Cancel.self).target
    if let query = connections[slot].queries[target] {
      emit(.refusal(slot, target, WireError(.cancelled, "the asker has cancelled the query")))
      cancel(query, at: now)
    } else if let number = connections[slot].awaitedPosts[target] {
      emit(.refusal(slot, target, WireError(.cancelled, "the poster has cancelled the wait")))
      forget(awaitedPost: number)
    } else if !endRegistration(target, at: slot, at: now) {
      throw WireError(.notFound, "there is no registration, query or awaited post with serial \(target)")
    }
    emit(.okay(slot, frame.header.serial, Okay()))
  }

  /// Returns false if the connection has no registration or action with this serial.
  @discardableResult
  mutating func endRegistration(_ serial: Serial, at slot: ConnectionSlot, at now: Instant) -> Bool {
    if let observation = connections[slot].observations[serial] {
      center.remove(observation, slot: slot)
      connections[slot].observations[serial] = nil
      releaseCharge(of: serial, from: slot)
      connections[slot].tokenCount -= observation.pattern.tokenCount
      if observation.isAwaited, !connections[slot].unacknowledgedPosts.isEmpty { emit(.observesLess(slot)) }
    } else if let registration = connections[slot].monitors[serial] {
      monitors.remove(registration, slot: slot)
      connections[slot].monitors[serial] = nil
      releaseCharge(of: serial, from: slot)
      connections[slot].tokenCount -= registration.tokenCount
    } else if let delegate = connections[slot].delegates[serial] {
      detach([delegate], at: now)
    } else if let hold = connections[slot].holds[serial] {
      release(hold, at: now)
    } else if let action = connections[slot].actions[serial] {
      end(action, at: now)
    } else if let declaration = connections[slot].declarations[serial] {
      withdraw(declaration)
    } else {
      return false
    }
    return true
  }

  /// Ends registrations. All delegates among them leave their chains before any query asks further delegates.
  package mutating func endRegistrations(_ registrations: [RegistrationPlace], at now: Instant) {
    var delegates: [DelegateRegistration] = []
    for place in registrations {
      if let delegate = connections[place.slot].delegates[place.serial] {
        delegates.append(delegate)
      } else {
        endRegistration(place.serial, at: place.slot, at: now)
      }
    }
    detach(delegates, at: now)
  }

  // MARK: Shared with delegation

  mutating func emit(_ effect: consuming Effect) { effects.append(effect) }

  package mutating func announce(_ announcement: @autoclosure () -> Announcement) {
    if isObserved { emit(.announcement(announcement())) }
  }

  mutating func makeDelegateID() -> DelegateID { DelegateID(rawValue: ids.delegates.next()) }
}

extension FrameView {
  func pattern() throws(WireError) -> Pattern {
    name.byteCount == 0 ? .any : try Pattern(String(repairing: name))
  }
}

// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The bus as a value: its connections, their observations and delegates, and the queries under way.
///
/// It does no I/O, reads no clock and starts nothing. Frames and the time go in; what the server has to send comes
/// out of `takeEffects`. A test, or a simulation from a seed, can take the server's place.
///
/// Plain notifications bypass it: the server asks `receivers` for the receivers, and forwards the bytes.
///
/// A getter that is called in every loop iteration, or for every frame, is mutating. A non-mutating one would be
/// called on a copy of the whole bus, which costs some 100 instructions.
package struct Bus: ~Copyable {
  struct Connection {
    let id: ConnectionID
    let peer: PeerIdentity
    /// Bytes charged for each registration, by serial.
    var registeredLengths: [Serial: Int] = [:]
    var observations: [Serial: NotificationCenter.Observation] = [:]
    var monitors: [Serial: Monitors.Registration] = [:]
    /// Tokens in the patterns of its observations and monitors.
    var tokenCount = 0
    var delegates: [Serial: DelegateRegistration] = [:]
    /// The delegates, by dedup key.
    var likenesses: [ExactText: DelegateRegistration] = [:]
    /// Patterns of all its delegates.
    var patternCount = 0
    /// Tokens of these patterns.
    var patternTokenCount = 0
    var holds: [Serial: HoldRegistration] = [:]
    var declarations: [Serial: DeclarationRegistration] = [:]
    /// Queries that it asked, by the serial of the `ask`.
    var queries = SmallDictionary<Serial, QueryID>()
    /// Participants of all its queries.
    var participantCount = 0
    /// Bytes of userInfo kept for its queries under way, whether or not they are charged to its user.
    var questionByteCount = 0
    /// Bytes of reasons and values that its queries and awaited posts have received.
    var answerByteCount = 0
    /// Its awaited posts: their numbers by serial, and the observers of all of them, settled ones included.
    var awaitedPosts: [Serial: Int] = [:]
    var awaitedCount = 0
    /// Numbers of the awaited posts that wait for this connection.
    var owed: Set<Int> = []
    /// nil unless the connection is suspended.
    var held: HeldNotifications?

    var registrationCount: Int { observations.count + monitors.count + declarations.count }
    var waitCount: Int { queries.count + awaitedPosts.count }
    /// Delegates and holds share one limit.
    var delegateCount: Int { delegates.count + holds.count }

    /// Inlined, so that the call does not copy the connection.
    @inline(__always) func uses(_ serial: Serial) -> Bool {
      hasRegistered(serial) || queries[serial] != nil || awaitedPosts[serial] != nil
    }

    @inline(__always) func hasRegistered(_ serial: Serial) -> Bool {
      observations[serial] != nil || monitors[serial] != nil || delegates[serial] != nil
        || holds[serial] != nil || declarations[serial] != nil
    }
  }

  package var limits: BusLimits
  package var policy = BusPolicy()
  var center: NotificationCenter
  /// Verdicts, and the vetoes among them, from the start. Dry runs and queries for values do not count.
  package internal(set) var askedCount: UInt64 = 0
  package internal(set) var vetoedCount: UInt64 = 0

  var connections: [Connection?] = []
  /// The accounts of their users, by slot. They are outside `Connection`, so that a lookup does not copy it.
  var accountsBySlot: [UserAccount?] = []
  /// By the number of the id.
  var slots: [UInt64: ConnectionSlot] = [:]
  var monitors: Monitors
  var chains: DelegateChains
  var holds: Holds
  var declarations: Declarations
  let payloadCheck: PayloadCheck
  /// Of queries, awaited posts and holds.
  var deadlines = Deadlines<Due>()
  var queries = QueryTable()
  var postings = PostingQueue()
  var retained = RetainedNotifications()
  var awaitedPosts = AwaitedPosts()
  /// By user id, for each user with a connection.
  var accounts: [UInt32: UserAccount] = [:]
  /// Bytes buffered for all suspended connections.
  var heldByteCount = 0
  var suspendedCount = 0
  /// Connections for which something was buffered, until `popHeld` returns them.
  var heldSlots: [ConnectionSlot] = []
  /// Posts with fields that were accepted, from the start.
  package internal(set) var acceptedPostCount: UInt64 = 0
  /// Frames that were refused and changed nothing, from the start.
  package private(set) var refusedCount: UInt64 = 0
  var lastQuery: UInt64 = 0
  var lastDelegate: UInt64 = 0
  /// Highest ids given. They exceed the last ids only during a restore.
  var highestQuery: UInt64 = 0
  var highestDelegate: UInt64 = 0
  /// Whether accepted frames are being replayed. They are not checked against current declarations.
  package var isRestoring = false
  /// The truncation reason of the last answer, if nothing of it was kept: there was no capacity for it, or it did not
  /// fit its method. During a restore, the truncation reason of the next answer.
  package var cutReason: String?
  /// Delegates that restored queries wait for, and that are not attached.
  var strays: [DelegateRegistration] = []
  var effects: [Effect] = []
  /// Whether announcements have ended.
  private var isStopping = false

  /// - Parameters:
  ///   - seed: any number that peers cannot guess.
  ///   - payloadCheck: checks messages about objects that have a protocol.
  package init(limits: BusLimits, seed: UInt64, payloadCheck: PayloadCheck) {
    self.limits = limits
    self.payloadCheck = payloadCheck
    center = NotificationCenter(seed: seed)
    monitors = Monitors(seed: ~seed)
    chains = DelegateChains(seed: seed &+ 1)
    holds = Holds(seed: seed &+ 2)
    declarations = Declarations(seed: seed &+ 3)
  }

  package var observationCount: Int { center.observationCount }
  package var delegateCount: Int { chains.count }
  package var holdCount: Int { holds.count }
  package var queryCount: Int { queries.count }
  /// Changes whenever something is registered, removed or decided.
  package var changeCount: UInt64 {
    center.changeCount &+ chains.changeCount &+ holds.changeCount &+ declarations.changeCount &+ askedCount
  }
  /// Whether any connection may receive the bus's own notifications.
  package var isObserved: Bool { center.isBusObserved && !isStopping }

  /// When `advance` next has something to do.
  package var nextAdvance: Instant? {
    mutating get { deadlines.nextDue }
  }

  /// The earliest time at which `advance` or `deliverDue` has work.
  package var nextDeadline: Instant? {
    mutating get {
      var next = deadlines.nextDue
      if let due = postings.nextDue { next = min(next ?? due, due) }
      return next
    }
  }

  /// Moves out the effects, in the order in which they must be performed.
  ///
  /// - Parameter recycled: an empty array, whose capacity is used for the next effects.
  package mutating func takeEffects(_ recycled: inout [Effect]) {
    precondition(recycled.isEmpty)
    swap(&effects, &recycled)
  }

  // MARK: Connections

  /// Adds a connection that has been greeted. Its slot must be free.
  package mutating func connect(_ slot: ConnectionSlot, id: ConnectionID, peer: PeerIdentity) {
    while connections.count <= slot.index {
      connections.append(nil)
      accountsBySlot.append(nil)
    }
    precondition(connections[slot.index] == nil, "slot \(slot.index) is taken")
    connections[slot.index] = Connection(id: id, peer: peer)
    openAccount(of: peer.uid, at: slot)
    slots[id.rawValue] = slot
    announce(.didConnect(id, peer))
  }

  /// Removes a connection. Its registrations end, those who wait for its answers wait no longer, and its queries and
  /// awaited posts are cancelled.
  ///
  /// - Parameter reason: why the bus ended it, if it did.
  package mutating func disconnect(
    _ slot: ConnectionSlot, because reason: ErrorCode? = nil, at now: Instant
  ) {
    guard let connection = connections[slot.index] else { preconditionFailure("slot \(slot.index) is free") }
    for observation in connection.observations.values { center.remove(observation, slot: slot) }
    for registration in connection.monitors.values {
      monitors.remove(registration, slot: slot)
    }
    let delegates = connection.delegates.values.sorted { $0.identity.id < $1.identity.id }
    for delegate in delegates { leave(delegate) }
    for hold in connection.holds.values.sorted(by: { $0.identity.id < $1.identity.id }) {
      leave(hold, at: now)
    }
    for declaration in connection.declarations.values { declarations.remove(declaration) }
    for id in connection.queries.values.sorted() { cancel(id, at: now) }
    for number in connection.awaitedPosts.values.sorted() { forget(awaitedPost: number) }
    settleOwed(by: slot, at: now)
    forgetHeld(for: slot)
    closeAccount(of: self.connection(at: slot), at: slot)
    connections[slot.index] = nil
    slots[connection.id.rawValue] = nil
    settleGone(delegates, at: now)
    announce(.didDisconnect(connection.id, connection.peer, reason: reason))
  }

  /// Prepares the end of the bus. Delivers buffered notifications, announces `willStop` as the last announcement, and
  /// ends every query without a verdict. Awaited posts end without a reply, so no poster sees its observers as gone.
  package mutating func stop(at now: Instant) {
    resumeAll()
    for number in awaitedPosts.numbers { forget(awaitedPost: number) }
    announce(.willStop)
    isStopping = true
    for place in queries.allPlaces { end(place, .cancelled, at: now) }
  }

  // MARK: Notifications

  /// The connections that receive a notification.
  ///
  /// - Parameter key: name and object, contiguous as in the frame.
  /// - Throws: `invalidName`, `invalidObject`.
  package mutating func receivers(
    of key: RawSpan, nameLength: Int
  ) throws(WireError) -> [Receiver] {
    try center.receivers(of: key, nameLength: nameLength)
  }

  // MARK: Frames

  /// Handles a frame for the core. An error that does not close the connection becomes a refusal.
  ///
  /// - Parameter slice: the frame's bytes, to which effects refer without a copy.
  /// - Returns: false if clients send no frames of this kind to the core.
  /// - Throws: an error that closes the connection.
  package mutating func receive(
    _ frame: FrameView, in slice: ByteSlice, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) -> Bool {
    // Deadlines come first, so that a late answer is late even if its frame is handled before the timer.
    if let due = nextDeadline, due <= now { advance(to: now) }
    do throws(WireError) {
      switch frame.header.kind {
      case .observe, .monitor, .attach, .hold, .declare: try register(frame, from: slot, at: now)
      case .post: try post(frame, in: slice, from: slot, at: now)
      case .suspend: try suspend(frame, from: slot)
      case .done: try acknowledge(frame, from: slot, at: now)
      case .ask: try ask(frame, in: slice, from: slot, at: now)
      case .answer: try answer(frame, from: slot, at: now)
      case .defer: try deferAnswer(frame, from: slot, at: now)
      case .cancel: try cancel(frame, from: slot, at: now)
      default: return false
      }
    } catch {
      guard !error.code.closesConnection else { throw error }
      refusedCount &+= 1
      emit(.refusal(slot, frame.header.serial, error))
    }
    return true
  }

  mutating func observe(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let fields = try frame.decode(Observe.self)
    let serial = frame.header.serial
    let pattern = try frame.pattern()
    try frame.object.requireObject()
    let object = frame.object.byteCount == 0 ? nil : String(repairing: frame.object)
    try requireRoom(for: serial, from: slot)
    try requireRoom(for: pattern, from: slot)
    let observation = NotificationCenter.Observation(
      pattern: pattern, object: object, suspension: fields.suspension,
      isAwaited: fields.options.contains(.awaited))
    center.add(observation, slot: slot)
    connections[slot.index]?.observations[serial] = observation
    connections[slot.index]?.tokenCount += pattern.tokenCount
    if fields.options.contains(.retained) { sendSnapshot(of: observation, to: slot, serial, at: now) }
    emit(.okay(slot, serial, Okay(registration: serial)))
  }

  func requireRoom(for serial: Serial, from slot: ConnectionSlot) throws(WireError) {
    try requireFresh(serial, from: slot)
    guard connection(at: slot).registrationCount < limits.observationsMax else {
      throw WireError(
        .limitExceeded, "a connection can have \(limits.observationsMax) observations and declarations")
    }
  }

  func requireRoom(for pattern: Pattern, from slot: ConnectionSlot) throws(WireError) {
    guard connection(at: slot).tokenCount + pattern.tokenCount <= limits.observationTokensMax else {
      throw WireError(
        .limitExceeded,
        "the patterns that a connection observes can have \(limits.observationTokensMax) tokens in all")
    }
  }

  @inline(__always) func requireFresh(_ serial: Serial, from slot: ConnectionSlot) throws(WireError) {
    guard serial != 0 else { throw WireError(.invalidValue, "serial 0 stands for no frame") }
    guard !connection(at: slot).uses(serial) else {
      throw WireError(.duplicateSerial, "serial \(serial) stands for something else still")
    }
  }

  func connection(at slot: ConnectionSlot) -> Connection {
    guard let connection = connections[slot.index] else { preconditionFailure("slot \(slot.index) is free") }
    return connection
  }

  private mutating func cancel(
    _ frame: FrameView, from slot: ConnectionSlot, at now: Instant
  ) throws(WireError) {
    let target = try frame.decode(Cancel.self).target
    let connection = connection(at: slot)
    if let observation = connection.observations[target] {
      center.remove(observation, slot: slot)
      connections[slot.index]?.observations[target] = nil
      giveBack(target, from: slot)
      connections[slot.index]?.tokenCount -= observation.pattern.tokenCount
    } else if let registration = connection.monitors[target] {
      monitors.remove(registration, slot: slot)
      connections[slot.index]?.monitors[target] = nil
      giveBack(target, from: slot)
      connections[slot.index]?.tokenCount -= registration.tokenCount
    } else if let delegate = connection.delegates[target] {
      detach([delegate], at: now)
    } else if let hold = connection.holds[target] {
      release(hold, at: now)
    } else if let declaration = connection.declarations[target] {
      withdraw(declaration)
    } else if let query = connection.queries[target] {
      emit(.refusal(slot, target, WireError(.cancelled, "the asker took the query back")))
      cancel(query, at: now)
    } else if let number = connection.awaitedPosts[target] {
      emit(.refusal(slot, target, WireError(.cancelled, "the poster waits no longer")))
      forget(awaitedPost: number)
    } else {
      throw WireError(.notFound, "nothing is registered, asked or awaited under serial \(target)")
    }
    emit(.okay(slot, frame.header.serial, Okay()))
  }

  // MARK: Shared with delegation

  mutating func emit(_ effect: Effect) { effects.append(effect) }

  mutating func announce(_ announcement: @autoclosure () -> Announcement) {
    if isObserved { emit(.announcement(announcement())) }
  }

  mutating func makeQueryID() -> QueryID {
    lastQuery += 1
    return QueryID(rawValue: lastQuery)
  }

  mutating func makeDelegateID() -> DelegateID {
    lastDelegate += 1
    return DelegateID(rawValue: lastDelegate)
  }

  mutating func countVerdict(_ verdict: VerdictKind) {
    askedCount += 1
    if verdict == .vetoed { vetoedCount += 1 }
  }
}

extension FrameView {
  /// The frame's name as a pattern; any if the frame has none.
  func pattern() throws(WireError) -> Pattern {
    name.byteCount == 0 ? .any : try Pattern(String(repairing: name))
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Hands events to the core, and applies the core's effects.
final class Interpreter {
  /// In bytes. If a question's name, object and userInfo together have at most this length, the bus copies
  /// them behind the question's header and fields. This saves an I/O vector.
  private static let copiedTailLength = 1024

  let context: ServerContext
  let bus: Cell<Bus>.Reference
  let sessions: SessionTable
  let recorder: Recorder
  let sender: Sender
  let monitor: TrafficMonitor
  let replier: Replier
  private let introducer: Introducer
  private let snapshots: Snapshots
  private let effects = Cell(Batch<Effect>())
  private let unsentQuestions = Cell<[Question]>([])
  /// Sessions that have ended an awaited observation while notifications waited in their backlogs.
  private let observeLess = Cell<[Session]>([])
  private let verdicts = Cell<[VerdictEntry]>([])

  init(
    _ sender: Sender, _ monitor: TrafficMonitor, _ replier: Replier, _ introducer: Introducer,
    _ snapshots: Snapshots, _ context: ServerContext
  ) {
    (bus, sessions, recorder) = (context.bus, context.sessions, sender.recorder)
    (self.sender, self.monitor, self.replier) = (sender, monitor, replier)
    (self.introducer, self.snapshots, self.context) = (introducer, snapshots, context)
  }

  // MARK: Events

  /// Gives a client's frame to the core, in one transaction (`Recorder`). The log gets only accepted frames.
  ///
  /// - Throws: an error for which the bus must close the connection.
  func receive(_ frame: FrameView, in slice: ByteSlice, of session: Session) throws(WireError) -> Receipt {
    let isLogged: Bool
    do throws(WireError) {
      isLogged = try recorder.admit(frame, of: session)
    } catch {
      replier.refuse(session, serial: frame.header.serial, error)
      return .refused(error)
    }
    let transaction = recorder.begin(reserving: frame.bytes.byteCount)
    let last = bus.value.counters
    let receipt: Receipt
    do throws(WireError) {
      receipt = try bus.value.receive(frame, in: slice, from: session.slot, at: context.now)
    } catch {
      recorder.end(transaction)
      throw error
    }
    let isPost = if case .post = frame.header.kind { true } else { false }
    switch receipt {
    case .accepted(let acceptance):
      if isLogged { recorder.record(frame, acceptance, after: last, of: session) }
      recorder.storeIDs(givenTo: acceptance)
      applyEffects(within: transaction)
      if isPost { recorder.recordAwaitedPost(frame.header.serial, of: session) }
    case .refused:
      if isPost, monitor.isWatched { monitor.showRefusedPost(frame, slice, from: session) }
      applyEffects(within: transaction)
    case .unknownKind: break
    }
    recorder.end(transaction)
    return receipt
  }

  /// Performs `event` and its effects in one transaction. If a replay cannot derive the event from other log
  /// entries, the closure `event` must also log the event.
  ///
  /// - Parameter compacts: true only for the event that ends a recovery. The log does not get this event.
  ///   Instead, a compaction logs all queries, actions and awaited posts, and commits the transaction.
  func perform(compacting compacts: Bool = false, _ event: () -> Void) {
    transact(compacting: compacts, event)
    relieveAndAnnounceIfNeeded()
  }

  private func transact(compacting compacts: Bool = false, _ event: () -> Void) {
    let transaction = recorder.begin(reserving: compacts ? nil : 0)
    event()
    applyEffects(within: transaction)
    recorder.end(transaction, compacting: compacts)
  }

  @inline(__always) var isAnythingDue: Bool {
    // If the `guard` accessed the bus directly, the access would be a coroutine, and allocate memory.
    let due = bus.value.nextAdvance
    guard let due else { return false }
    return due <= context.now
  }

  func advance(waitingFor unheard: [Session], until end: Instant) {
    guard isAnythingDue else { return }
    let slots = Set(unheard.map(\.slot))
    perform {
      recorder.recordAdvance(waitingFor: unheard, until: end)
      bus.value.advance(to: context.now, waitingFor: slots, until: end)
    }
  }

  func deliverSoon() {
    deliver { bus in bus.deliverSoon() }
  }

  func deliverIdle() {
    deliver { bus in bus.deliverIdle() }
  }

  func deliverDue() {
    let now = context.now
    deliver { bus in bus.deliverDue(at: now) }
  }

  func deliverPostponed() {
    deliverSoon()
    deliverIdle()
  }

  private func deliver(_ next: (inout Bus) -> Bool) {
    var isDelivering = true
    while isDelivering { perform { isDelivering = next(&bus.value) } }
  }

  /// Must be called after each transaction, and after plain posts (`Router`), which need no transaction.
  @inline(__always) func relieveAndAnnounceIfNeeded() {
    if sender.isOverLimits || !sender.events.value.isEmpty { relieveAndAnnounce() }
  }

  private func relieveAndAnnounce() {
    while sender.isOverLimits || !sender.events.value.isEmpty {
      if sender.isOverLimits {
        // `relieve` can send the `ok` for a post that waits for the end of the iteration. The log lacks such
        // posts, so the bus delivers them first: the death of the daemon must not lose a confirmed post.
        while bus.value.hasSoonPosts { transact { _ = bus.value.deliverSoon() } }
        sender.relieve()
      }
      announceEvents()
    }
  }

  // MARK: Effects

  private func applyEffects(within _: borrowing Recorder.Transaction) {
    repeat {
      var effects = Batch<Effect>()
      swap(&self.effects.value, &effects)
      bus.value.takeEffects(&effects)
      effects.drain { effect in apply(effect) }
      swap(&self.effects.value, &effects)
    } while failUnsentQuestions() || abandonAwaitedPosts()
  }

  /// - Returns: true if a question failed. The core can then have new effects.
  private func failUnsentQuestions() -> Bool {
    guard !unsentQuestions.value.isEmpty else { return false }
    var unsent: [Question] = []
    swap(&unsentQuestions.value, &unsent)
    for question in unsent {
      let reason = "it has not read earlier questions"
      recorder.recordFailure(of: question, reason: reason)
      bus.value.failQuestion(question.query, question.delegate, reason: reason, at: context.now)
    }
    return true
  }

  /// - Returns: true if a session had ended an awaited observation. The core can then have new effects.
  private func abandonAwaitedPosts() -> Bool {
    guard !observeLess.value.isEmpty else { return false }
    while let session = observeLess.value.popLast() {
      for (poster, serial) in abandonedPosts(by: session) {
        recorder.recordAbandonment(of: serial, of: poster, by: session)
        bus.value.abandon(serial, of: poster, by: session.slot, at: context.now)
      }
    }
    return true
  }

  /// The awaited posts in the session's backlog that the client will never acknowledge: the client has ended
  /// all awaited observations that match these posts.
  private func abandonedPosts(by session: Session) -> [(poster: ConnectionID, serial: Serial)] {
    var found: [(poster: ConnectionID, serial: Serial)] = []
    session.output.backlog.forEachWaiting { part in
      guard part.kind == .notifications else { return }
      part.slice.forEachFrame(limits: .fromBus) { header, frame in
        if case .post = header.kind, bus.value.isAbandoned(FrameView(header, frame.bytes), by: session.slot) {
          found.append((header.sender, header.serial))
        }
      }
    }
    return found
  }

  private func apply(_ effect: consuming Effect) {
    switch consume effect {
    case .okay(let slot, let serial, let okay):
      if let session = session(at: slot) { replier.enqueue(okay, for: session, serial: serial) }
    case .refusal(let slot, let serial, let error):
      if let session = session(at: slot) { replier.refuse(session, serial: serial, error) }
    case .question(let slot, let serial, let asker, let question, let tail):
      if let delegate = session(at: slot) {
        enqueueQuestion(question, serial, tail, from: asker, for: delegate)
      }
    case .progress(let slot, let serial, let progress, let status, let tail):
      guard let asker = session(at: slot) else { return }
      // Each `progress` frame supersedes the one before, so dropping one is safe. Without this limit, a
      // delegate that defers endlessly could make the bus close the connection of a slow asker.
      guard
        !asker.output.isBlocked || asker.output.queue.byteCount <= context.configuration.queue.highMarkBytes
      else { return }
      replier.enqueue(progress, for: asker, serial: serial, text: status, about: tail)
    case .verdict(let slot, let serial, let decision, let tail):
      applyVerdict(decision, serial, tail, to: session(at: slot))
    case .concluded(let slot, let serial, let concluded, let tail):
      if let delegate = session(at: slot) {
        replier.enqueue(concluded, for: delegate, serial: serial, about: tail, defersFlush: true)
      }
    case .ended(let slot, let serial, let ended):
      if let session = session(at: slot) { replier.enqueue(ended, for: session, serial: serial) }
    case .expired(let slot, let serial, let hold):
      if let session = session(at: slot) { replier.enqueue(Ended.expired, for: session, serial: serial) }
      logExpiry(of: hold)
    case .noLongerPermitted(let ended):
      recorder.recordEnds(of: ended.map(\.registration))
      for (place, why) in ended {
        // At a take-over, the connection can also be missing.
        guard let session = sessions[place.slot] else { continue }
        replier.enqueue(Ended.notPermitted(why), for: session, serial: place.serial)
      }
    case .late(let slot, let serial, let late):
      if let session = session(at: slot) { replier.enqueue(late, for: session, serial: serial) }
    case .announcement(let announcement):
      announce(announcement)
    case .notification(let slice, let receivers, let poster):
      enqueueNotification(slice, for: receivers, from: poster)
    case .kept(let notification): recorder.recordRetained(notification)
    case .forgotten(let name, let object): recorder.recordForgotten(name, object)
    case .waiting(let slice, let number, let poster, let uid):
      recorder.recordPostponed(slice, number: number, from: poster, uid: uid)
    case .noLongerWaiting(let number): recorder.recordDelivered(postponed: number)
    case .buffered(let slot, let flushed): enqueueBuffered(flushed, for: slot)
    case .snapshot(let slot, let serial, let notifications):
      guard let session = session(at: slot) else {
        return recorder.countMissed(notifications.count, at: slot)
      }
      snapshots.begin(notifications, serial, for: session)
    case .awaited(let slot, let serial, let awaited, let tail):
      if let poster = session(at: slot) { replier.enqueue(awaited, for: poster, serial: serial, about: tail) }
    case .observesLess(let slot):
      if let session = session(at: slot), !session.output.backlog.isEmpty {
        observeLess.value.append(session)
      }
    }
  }

  private func enqueueQuestion(
    _ question: Question, _ serial: Serial, _ tail: QueryTail, from asker: ConnectionID,
    for delegate: Session
  ) {
    guard sender.hasSpace(forQuestionOf: tail.slice.count, from: asker, to: delegate) else {
      return unsentQuestions.value.append(question)
    }
    let buffer = sender.bufferToEncode()
    let start = buffer.count
    buffer.appendHead(
      of: question, sender: asker, serial: serial, nameLength: tail.nameLength,
      objectLength: tail.objectLength, payloadLength: tail.payloadLength)
    let isCopied = tail.slice.count <= Self.copiedTailLength
    if isCopied { buffer.append(tail.slice.bytes) }
    let slice = ByteSlice(buffer, start..<buffer.count)
    let rest = isCopied ? nil : tail.slice
    sender.enqueue(slice, rest, for: delegate, isNotification: false)
    if monitor.isWatched { monitor.showQuestion(slice, rest, tail, from: asker, to: delegate.id) }
  }

  private func applyVerdict(_ decision: Decision, _ serial: Serial, _ tail: QueryTail, to asker: Session?) {
    if let asker {
      let buffer = sender.bufferToEncode()
      let start = buffer.count
      buffer.appendHead(of: decision.verdict, serial: serial)
      let slice = ByteSlice(buffer, start..<buffer.count)
      sender.enqueue(slice, for: asker, isNotification: false)
      if monitor.isWatched { monitor.showVerdict(slice, tail, to: asker.id) }
    }
    log(decision, of: tail)
    if decision.verdict.isOverridden, !decision.verdict.isDryRun { announceOverride(decision, of: tail) }
  }

  private func enqueueNotification(_ slice: ByteSlice, for receivers: [Receiver], from poster: Poster) {
    let source = sessions[poster.id]
    for receiver in receivers {
      guard
        introducer.introduce(
          poster.id, poster.peer, toObserverAt: receiver.slot, before: 1,
          overtakesBacklog: receiver.isDelegate)
      else { continue }
      if let source {
        sender.deliver(slice, count: 1, to: receiver, from: source)
      } else {
        sender.deliverWithoutPacing(slice, to: receiver.slot, waitsForRoom: !receiver.isDelegate)
      }
    }
    context.statistics.value.delivered += UInt64(receivers.count)
    if monitor.isWatched { monitor.showPost(slice, receivers: receivers.count, from: poster.id) }
  }

  /// Queues notifications that a suspension has buffered. Does not check whether the observer is slow: the
  /// size of these notifications is limited, and the next delivery to this observer checks.
  func enqueueBuffered(_ flushed: FlushedNotifications, for slot: ConnectionSlot) {
    context.statistics.value.delivered += flushed.count
    defer { recorder.storeBufferedCount(for: slot) }
    guard let session = session(at: slot) else {
      return recorder.countMissed(Int(clamping: flushed.count + flushed.lost), at: slot, wereBuffered: true)
    }
    sender.enqueueLost(flushed.lost, for: session, wereBuffered: true)
    for slice in flushed.slices {
      let (poster, count) = (slice.bytes.frameSender(at: 0), slice.frameCount)
      guard
        introducer.introduce(
          poster, peer(of: poster), toObserverAt: slot, before: count, wereBuffered: true)
      else { continue }
      sender.enqueue(slice, for: session, isNotification: true, count: count, wereBuffered: true)
    }
    if monitor.isWatched { monitor.showBuffered(flushed.slices, lost: flushed.lost, to: session) }
  }

  private func peer(of id: ConnectionID) -> PeerIdentity {
    sessions.peer(of: id, at: context.now) ?? .gone()
  }

  /// Nil if the session is detached, because its client has not reconnected yet.
  private func session(at slot: ConnectionSlot) -> Session? {
    if let session = sessions[slot] { return session }
    precondition(sessions.detached(at: slot) != nil, "slot \(slot.index) of an effect has no session")
    return nil
  }

  // MARK: Journal

  private func logExpiry(of hold: HoldEntry) {
    let peer = hold.delegate.peer
    guard context.mayLog(.expiries, about: peer.uid) else { return }
    let (age, why) = (TimeSpan(microseconds: Int64(clamping: hold.age)), hold.why.prefix(utf8Length: 200))
    context.log.write(
      .notice, "the hold of \(hold.pattern) by \(peer.summary) expired after \(age): \(why)",
      for: peer.uid)
  }

  private func log(_ decision: Decision, of tail: QueryTail) {
    let verdict = decision.verdict
    guard !decision.mode.isForValues else { return }
    guard !verdict.isDryRun else {
      return context.log.debug("dry run: \(VerdictEntry(decision, of: tail).message)")
    }
    if context.log.keeps(verdict.verdict, isOverridden: verdict.isOverridden) {
      context.log.keep(VerdictEntry(decision, of: tail))
    }
    // Overridden verdicts ignore the line budget: a user must not use up the budget to hide an override.
    if context.log.wants(verdict.verdict, isOverridden: verdict.isOverridden),
      verdict.isOverridden
        || context.mayLog(.verdicts, about: decision.askerPeer.uid, weight: VerdictEntry.weight(of: verdict))
    {
      verdicts.value.append(VerdictEntry(decision, of: tail))
    }
  }

  func writeVerdicts() {
    guard !verdicts.value.isEmpty else { return }
    for verdict in verdicts.value { context.log.write(verdict) }
    verdicts.value.removeAll(keepingCapacity: verdicts.value.capacity <= 1024)
  }
}

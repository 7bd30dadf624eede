// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Takes over another daemon's bus, with or without a hand-over.
final class Recovery {
  private static let detachedNanoseconds: UInt64 = 5_000_000_000

  /// More ids than can have been given out since the highest known id.
  private static let idsSkipped: UInt64 = 1 << 32

  let context: ServerContext
  let bus: Cell<Bus>.Reference
  let sessions: SessionTable
  let wal: WriteAheadLog
  let recorder: Recorder
  let sender: Sender
  private let gatekeeper: Gatekeeper
  let quota: DescriptorQuota
  let reader: FrameReader
  let keeper: KeeperLink
  private let interpreter: Interpreter
  private let loop: EventLoop
  let passed: PassedAtStart
  var inheritedFiles: [UInt64: InFlightFile] = [:]
  private final class Socket {
    var descriptor: FileDescriptor?

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = consume descriptor }
  }

  private var ended: [ConnectionID: Socket] = [:]
  private(set) var replayed = ReplayedLog()
  private var damage: LogDamage?
  private var isPlanned = false
  private var missing: [ConnectionSlot] = []
  private var unknownCount = 0

  init(
    from passed: PassedAtStart, _ interpreter: Interpreter, _ gatekeeper: Gatekeeper, _ reader: FrameReader,
    _ context: ServerContext
  ) {
    (bus, sessions) = (context.bus, context.sessions)
    (recorder, sender, quota) = (interpreter.recorder, interpreter.sender, gatekeeper.quota)
    (wal, keeper, loop) = (recorder.wal, recorder.keeper, sender.loop)
    (self.passed, self.interpreter, self.gatekeeper) = (passed, interpreter, gatekeeper)
    (self.reader, self.context) = (reader, context)
  }

  func run() {
    (replayed, damage) = replayLog()
    let inFlight = handedOverIO(replayed)
    isPlanned = inFlight != nil
    for (id, session) in replayed.found {
      let counters = wal.counters(of: session.facts.slot)
      replayed.found[id]?.judge(by: counters, id: ConnectionID(rawValue: id), isHandedOver: isPlanned)
      if damage != nil { replayed.found[id]?.markDamaged() }
      // If the keeper lacks a connection's socket, the client can still reconnect. A connection with
      // registrations, actions or bound notifications therefore gets a detached session.
      let slot = ConnectionSlot(index: session.facts.slot)
      let isToReturn =
        !session.positions.registrations.isEmpty || session.facts.isOpen && bus.value.hasActionsOrBound(slot)
      if isToReturn, !passed.hasConnection(cookie: session.facts.cookie) {
        replayed.found[id]?.fate = .restarts(isNotified: false)
        replayed.found[id]?.isDetached = true
      }
    }
    skipGivenIDs()
    let ids = replayed.found.keys.sorted()
    for id in ids {
      guard let found = replayed.found[id] else { continue }
      if !adopt(ConnectionID(rawValue: id), found), found.facts.isOpen {
        missing.append(ConnectionSlot(index: found.facts.slot))
      }
    }
    sessions.collectFreeSlots()
    // The log lacks the remaining connections. Their in-flight I/O and registrations are unknown, so the bus
    // shuts these connections down.
    unknownCount = passed.shutConnections()
    commitDetachedTimeouts()
    interpreter.perform(compacting: true) {
      for id in ids {
        guard let found = replayed.found[id] else { continue }
        resume(ConnectionID(rawValue: id), found, inFlight?[id])
      }
      for slot in missing { bus.value.disconnect(slot, at: context.now) }
      bus.value.finishRestoring(at: context.now)
      dropEffectsOnMissing()
      wal.setLast(.connection, sessions.lastID.rawValue)
      wal.setLast(.query, bus.value.counters.lastQuery)
      wal.setLast(.delegate, bus.value.counters.lastDelegate)
    }
    for session in sessions.all {
      recorder.storeCounters(ofRecovered: session)
      // The log does not tell whose notifications are queued. Some can come from patient posters
      // (`Output.isPatient`), so the bus treats all as if they did.
      session.output.notePatient()
    }
    keepInheritedFiles()
  }

  /// The bus must not reuse ids, even if entries are lost or did not fit into the log.
  private func skipGivenIDs() {
    var isDamaged = false
    func last(_ id: LoggedSequence, known: UInt64) -> UInt64 {
      switch wal.last(id) {
      case .given(let number): return max(number, known)
      case .unwritten: return known
      case .damaged:
        isDamaged = true
        return known + Self.idsSkipped
      }
    }
    let known = bus.value.highest
    bus.value.raiseHighest(
      query: last(.query, known: known.query), delegate: last(.delegate, known: known.delegate))
    sessions.raiseLastID(to: ConnectionID(rawValue: last(.connection, known: sessions.lastID.rawValue)))
    guard isDamaged else { return }
    context.log.warning("the log is damaged in its last ids: new ids are much higher")
  }

  /// - Returns: false if the socket cannot be watched, or is missing and the connection is not detached.
  private func adopt(_ id: ConnectionID, _ found: FoundConnection) -> Bool {
    let socket = passed.takeConnection(cookie: found.facts.cookie)
    if case .restarts = found.fate {
      guard socket != nil || found.isDetached else { return false }
      if let socket { ended[id] = Socket(socket) }
      if found.facts.isOpen { sessions.insert(DetachedSession(id, found)) }
      return true
    }
    guard let socket else { return false }
    let session = Session(
      id: id, slot: ConnectionSlot(index: found.facts.slot), descriptor: socket, cookie: found.facts.cookie,
      peer: found.facts.peer, subject: found.facts.subject,
      user: sessions.users[found.facts.peer.uid], connected: found.facts.connected,
      limits: found.facts.limits, varlink: found.facts.varlinkSecret.map(VarlinkState.init),
      state: found.facts.isOpen ? .open : .awaitingHello)
    session.output.acceptsFiles = found.facts.acceptsFiles
    session.predecessors = found.predecessors
    session.positions = found.positions
    // The numbers of control frames continue, so the entries in the log stay valid.
    session.output.controlCount = found.controlSent
    do throws(Errno) {
      try session.descriptor.setNonblocking()
      try loop.add(session.descriptor.rawValue, for: session.interest, token: session.token)
    } catch {
      context.log.warning("cannot resume connection \(id): \(error)")
      UnixSocket.shutdown(session.descriptor)
      return false
    }
    sessions.insert(session)
    if found.facts.wantsPosters { sessions.enablePosters(for: session) }
    recorder.keepOpen(session)
    return true
  }

  /// Gives each detached session one timeout, which further restarts do not extend.
  private func commitDetachedTimeouts() {
    let due = context.now.advanced(byNanoseconds: Self.detachedNanoseconds)
    for session in sessions.allDetached {
      let known = replayed.found[session.id.rawValue]?.detachedUntil
      if known == nil { recorder.recordDetached(session.id, until: due) }
      bus.value.markDetached(session.slot)
      context.timeouts.value.insert(.detached, session.token, due: min(known ?? due, due))
    }
    // This commit must precede the changes to the counter slots, because these changes clear the flags of
    // reads and writes in progress.
    recorder.commit()
  }

  private func resume(_ id: ConnectionID, _ found: FoundConnection, _ inFlight: InFlightIO?) {
    if case .restarts(let isNotified) = found.fate { return detach(id, found, isNotified: isNotified) }
    guard let session = sessions[id] else { return }
    session.output.queuedCount = found.queuedCount
    session.output.bufferedBefore = found.bufferedCount
    session.output.queue.lostCount = UInt64(found.lostCount)
    // The flags stay: the next daemon needs them if this daemon dies before the recovery is committed.
    session.output.flags = found.flags
    session.output.setLimit(nil)
    session.input.hasLast = found.flags.contains(.hasLast)
    if found.flags.contains(.hasUnreadFiles) { sender.unreadFiles.restore(for: session) }
    switch found.fate {
    case .survives:
      if let inFlight { restore(inFlight, of: session) }
      // If the rest of a partly sent frame is missing, the bus can send no further frames.
      if found.isMidFrame, !session.output.queue.isMidFrame { session.output.writing = .closed }
      session.beginCounting()
    case .loses(let count):
      session.beginCounting()
      restore(found, having: count, of: session)
    case .restarts: break
    }
    if found.flags.contains(.limited) {
      sender.enqueue(sender.encode(Room(limit: 0)), for: session, isNotification: false)
    }
    recorder.storeBufferedCount(for: session.slot)
    if session.isAwaitingHello { gatekeeper.awaitHello(of: session) }
  }

  private func detach(_ id: ConnectionID, _ found: FoundConnection, isNotified: Bool) {
    if let session = sessions.detached(id) {
      session.queuedCount = found.queuedCount
      session.bufferedBefore = found.bufferedCount
      session.flags.formUnion(found.flags)
      if found.isIncomplete { session.flags.insert(.incomplete) }
      recorder.storeDetached(session, isSlotKnown: found.isSlotKnown)
    } else if isNotified {
      // The refusal below can contain a hello. If this daemon dies after the refusal, the next daemon must
      // not send another hello.
      recorder.markSendingLast(to: found)
    }
    guard let socket = ended[id]?.descriptor.take() else { return }
    if isNotified {
      let error = WireError(.restarted, "the bus was restarted while a frame was under way")
      gatekeeper.refuse(
        socket, error, isGreeted: found.controlSent > 0, isVarlink: found.facts.varlinkSecret != nil)
    }
    let account = sessions.accounts.account(of: found.facts.peer.uid)
    guard !found.flags.contains(.hasUnreadFiles) else {
      return sender.unreadFiles.endRestored(socket, of: account)
    }
    UnixSocket.shutdown(socket)
    // Closing the socket also closes descriptors in its unread input, which can take long.
    quota.close(socket, of: account.descriptors)
  }

  private func restore(_ found: FoundConnection, having lost: UInt32, of session: Session) {
    // The hello and the welcome, if they are unsent. They must precede the `lost` frame.
    let greeting = found.controlFrames.prefix(Int(2 - min(found.controlSent, 2)))
    restore(greeting, of: session)
    if lost > 0 {
      context.statistics.value.lost += UInt64(lost)
      sender.changeOutput(of: session) { output in output.queue.appendLost(UInt64(lost)) }
      sender.scheduleFlush(session)
    }
    restore(found.controlFrames[greeting.endIndex...], of: session)
  }

  private func restore(_ frames: ArraySlice<(number: UInt32, frame: ByteBuffer)>, of session: Session) {
    for (_, frame) in frames {
      sender.enqueue(ByteSlice(frame, 0..<frame.count), for: session, isNotification: false)
    }
  }

  private func dropEffectsOnMissing() {
    bus.value.dropEffects(where: { effect in
      guard let slot = effect.slot else { return false }
      return sessions.session(ifAt: slot.index) == nil && sessions.detached(at: slot) == nil
    })
  }

  func logResult() {
    if let damage { context.log.warning("the log is damaged: \(damage)") }
    if replayed.skippedCount > 0 {
      context.log.warning("cannot replay \(replayed.skippedCount.counted("log entry", "log entries"))")
    }
    let refused = replayed.found.values.count { $0.isRefused }
    if refused > 0 {
      let affected = refused.counted("connection has", "connections have")
      context.log.warning("\(affected) to reconnect, because a registration or query is refused now")
    }
    if !missing.isEmpty {
      context.log.notice("\(missing.count.counted("logged connection is", "logged connections are")) gone")
    }
    if unknownCount > 0 {
      let closed = unknownCount.counted("connection that is", "connections that are")
      context.log.warning("closed \(closed) not in the log")
    }
    guard !replayed.found.isEmpty else { return }
    if wal.usedLength > wal.admissionLimit {
      context.log.warning(
        """
        the log has \(wal.usedLength) bytes of live entries, above its limit of \(wal.admissionLimit) (LogMax=): \
        refusing delegates, holds, declarations and queries until it is shorter
        """)
    }
    let restarted = sessions.allDetached.count
    if restarted > 0 {
      context.log.warning("\(restarted.counted("connection has", "connections have")) to reconnect")
    }
    context.log.info(
      "took over \((sessions.count - restarted).counted("connection"))"
        + (isPlanned ? "" : " without a hand-over"))
  }
}

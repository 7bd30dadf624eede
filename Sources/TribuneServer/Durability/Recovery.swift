// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Goes on where another daemon ended: by its own will, having handed everything over, or not. Used once, at the start.
final class Recovery {
  /// How long a connection that has to connect again keeps what it had registered.
  private static let detachedNanoseconds: UInt64 = 5_000_000_000

  /// More ids than have been given since the log last said one, where nothing else is known of them.
  private static let idsSkipped: UInt64 = 1 << 32

  let context: ServerContext
  let bus: Cell<Bus>.Reference
  let sessions: SessionTable
  let recorder: Recorder
  let sender: Sender
  let gatekeeper: Gatekeeper
  let reader: FrameReader
  let store: DescriptorStore?
  private let interpreter: Interpreter
  private let loop: EventLoop
  /// What lay in the store, or was handed over.
  let passed: PassedAtStart
  /// Files that another daemon has left, by inode.
  var inheritedFiles: [UInt64: InheritedFile] = [:]
  private var replayed = ReplayedLog()
  private var damage: LogDamage?
  private var isPlanned = false
  private var missing: [ConnectionSlot] = []
  private var unknownCount = 0

  init(
    _ passed: PassedAtStart, _ interpreter: Interpreter, _ gatekeeper: Gatekeeper, _ reader: FrameReader,
    _ loop: EventLoop, _ store: DescriptorStore?
  ) {
    context = interpreter.context
    bus = interpreter.bus
    sessions = interpreter.sessions
    recorder = interpreter.recorder
    sender = interpreter.sender
    (self.passed, self.interpreter, self.gatekeeper) = (passed, interpreter, gatekeeper)
    (self.reader, self.loop, self.store) = (reader, loop, store)
  }

  /// Replays the log, and goes on with the connections that are there.
  func run() {
    (replayed, damage) = replayLog()
    let streams = handedOverIO(replayed)
    isPlanned = streams != nil
    for (id, connection) in replayed.found {
      let counters = recorder.wal.counters(of: connection.facts.slot)
      replayed.found[id]?.judge(by: counters, id: ConnectionID(rawValue: id), isHandedOver: isPlanned)
      if damage != nil { replayed.found[id]?.fate = .restarts(isTold: false) }
    }
    skipGivenIDs()
    let ids = replayed.found.keys.sorted()
    for id in ids {
      guard let found = replayed.found[id] else { continue }
      guard let socket = socket(of: found), adopt(socket, ConnectionID(rawValue: id), found) else {
        if found.facts.isOpen { missing.append(ConnectionSlot(index: found.facts.slot)) }
        continue
      }
    }
    sessions.collectFreeSlots()
    unknownCount = closeUnknown()
    recorder.beginTransaction()
    logDetached()
    for id in ids { resume(ConnectionID(rawValue: id), replayed.found[id], streams?[id]) }
    for slot in missing { bus.value.disconnect(slot, at: context.now) }
    bus.value.finishRestoring(at: context.now)
    carryOutEffectsForThoseWhoAreThere()
    bus.value.advance(to: context.now)
    interpreter.carryOutEffects()
    recorder.wal.setLast(.connection, sessions.lastID.rawValue)
    recorder.noteGivenIDs()
    // All of that becomes visible at once, and before any of it is sent: it was caused by something that no entry but
    // those of the compaction's end tells.
    recorder.compactor.compactWhole(committing: true, at: context.now)
    recorder.endTransaction()
    interpreter.settle()
    for connection in sessions.all where !connection.isDetached { recorder.noteRecovered(connection) }
    removeInheritedFiles()
  }

  /// Whatever of the log is lost, or had no room in it, no id is given twice.
  private func skipGivenIDs() {
    var isDamaged = false
    func last(_ id: IDSequence, known: UInt64) -> UInt64 {
      switch recorder.wal.last(id) {
      case .given(let number): return max(number, known)
      // As many as what is lost has bytes: all that can be said of what an older daemon left.
      case .unwritten: return known + UInt64(damage?.unreadLength ?? 0)
      case .damaged:
        isDamaged = true
        return known + Self.idsSkipped
      }
    }
    let known = bus.value.highest
    bus.value.skip(
      query: last(.query, known: known.query), delegate: last(.delegate, known: known.delegate))
    sessions.noteGiven(ConnectionID(rawValue: last(.connection, known: sessions.lastID.rawValue)))
    guard isDamaged else { return }
    context.log.warning("the state is damaged where it says which ids were given: they go on much higher")
  }

  /// Closes the connections that the state does not know: neither what is under way on them nor what they have registered
  /// can be told.
  private func closeUnknown() -> Int {
    let cookies = passed.connectionCookies
    for cookie in cookies {
      guard let socket = passed.takeConnection(cookie: cookie) else { continue }
      store?.forget(connection: socket)
      UnixSocket.shutdown(socket)
    }
    return cookies.count
  }

  /// The socket of a connection. One that is only there for what it had registered has none, and no use for any.
  private func socket(of found: FoundConnection) -> FileDescriptor? {
    if let socket = passed.takeConnection(cookie: found.facts.cookie) {
      if found.isDetached { store?.forget(connection: socket) }
      return socket
    }
    guard found.isDetached else { return nil }
    do throws(Errno) {
      return try FileDescriptor.duplicate(of: recorder.wal.rawDescriptor)
    } catch {
      context.log.warning("what a connection had registered is lost: \(error)")
      return nil
    }
  }

  /// Gives a socket its connection back.
  ///
  /// - Returns: false when the kernel does not let it be watched; it is closed then.
  private func adopt(
    _ descriptor: consuming FileDescriptor, _ id: ConnectionID, _ found: FoundConnection
  ) -> Bool {
    let slot = ConnectionSlot(index: found.facts.slot)
    let connection = Connection(
      id: id, slot: slot, descriptor: descriptor, peer: found.facts.peer, connected: found.facts.connected,
      limits: found.facts.limits)
    connection.cookie = found.facts.cookie
    connection.takesFiles = found.facts.takesFiles
    connection.postedCount = found.facts.postedCount
    connection.queue.restore(lostCount: found.facts.lostCount)
    connection.phase = found.facts.isOpen ? .open : .awaitingHello
    connection.position = found.position
    connection.suspendPosition = found.suspendPosition
    connection.registered = found.registered
    // The numbers of what is said go on, so that what is in the log still holds.
    connection.traffic.value.controlCount = found.controlSent
    if case .restarts = found.fate {
      connection.isDetached = true
      connection.isWriteClosed = true
    } else {
      do throws(Errno) {
        try connection.descriptor.setNonblocking()
        try loop.add(connection.descriptor.rawValue, for: connection.interest, token: connection.token)
      } catch {
        context.log.warning("cannot go on with connection \(id): \(error)")
        store?.forget(connection: connection.descriptor)
        UnixSocket.shutdown(connection.descriptor)
        return false
      }
    }
    // It lies in the store already.
    connection.isStored = store != nil && !found.isDetached
    sessions.insert(connection)
    return true
  }

  /// Says until when those that have to connect again keep what they had registered. That is said once, however often the
  /// bus is restarted meanwhile.
  private func logDetached() {
    let due = context.now.advanced(byNanoseconds: Self.detachedNanoseconds)
    for connection in sessions.all where connection.isDetached {
      let known = replayed.found[connection.id.rawValue]?.detachedUntil
      if known == nil { recorder.recordDetached(connection.id, until: due) }
      context.timeouts.value.insert(.detached, connection.token, due: min(known ?? due, due))
    }
    // Before its cell is one in which nothing is under way.
    recorder.commit()
  }

  /// Goes on with what was under way on a connection.
  private func resume(
    _ id: ConnectionID, _ found: FoundConnection?, _ streams: InFlightIO?
  ) {
    guard let found, let connection = sessions[id] else { return }
    adoptCell(of: connection, found)
    switch found.fate {
    case .survives:
      if let streams { restore(streams, of: connection) }
      // Without the rest of a frame, nothing can be said behind its beginning.
      if found.isMidFrame, !connection.queue.isMidFrame { connection.isWriteClosed = true }
    case .loses(let count): restore(found, having: count, of: connection)
    case .restarts(let isTold):
      // Where nothing was to outlive the daemon, what was sent is not counted.
      let isGreeted = store == nil ? found.facts.isOpen : found.controlSent > 0
      detached(connection, isTold: isTold, isGreeted: isGreeted, isIncomplete: found.isIncomplete)
    }
    recorder.noteBuffered(for: connection)
    if connection.phase == .awaitingHello {
      gatekeeper.awaitHello(of: connection)
    }
  }

  /// Goes on with a connection's cell as it is: until the take-over is committed, the next daemon may have to judge by it
  /// once more.
  private func adoptCell(of connection: Connection, _ found: FoundConnection) {
    let slot = connection.slot.index
    connection.traffic.value.queuedCount = found.queuedCount
    connection.traffic.value.bufferedBefore = found.bufferedCount
    if let cell = recorder.wal.counters(of: slot), cell.connection == connection.id {
      connection.traffic.value.sessionFlags = cell.flags
    } else {
      // It is damaged, and nothing is known of the connection but what it had registered.
      recorder.wal.assignSlot(slot, to: connection.id, flags: .detached)
      connection.traffic.value.sessionFlags = .detached
    }
  }

  /// Queues what must not be lost, behind the number of what is. Before that, nothing but what greets it has a place.
  private func restore(_ found: FoundConnection, having lost: UInt32, of connection: Connection) {
    // The bus's hello, and the welcome.
    let greeting = found.said.prefix(Int(2 - min(found.controlSent, 2)))
    restore(greeting, of: connection)
    if lost > 0 {
      context.statistics.value.lost += UInt64(lost)
      sender.changeQueue(of: connection) { queue in queue.appendLost(UInt64(lost)) }
      sender.scheduleFlush(connection)
    }
    restore(found.said[greeting.endIndex...], of: connection)
  }

  private func restore(_ said: ArraySlice<(number: UInt32, frame: ByteBuffer)>, of connection: Connection) {
    for (_, frame) in said {
      sender.enqueue(ByteSlice(frame, 0..<frame.count), for: connection, isNotification: false)
    }
  }

  /// Ends a connection that cannot go on, and keeps what it had registered until it has connected again.
  ///
  /// - Parameter isIncomplete: not all of that is known.
  private func detached(_ connection: Connection, isTold: Bool, isGreeted: Bool, isIncomplete: Bool) {
    if isTold {
      let error = WireError(.restarted, "the bus was restarted while a frame was under way")
      let buffer = sender.bufferToEncode()
      let start = buffer.count
      // A client reads every refusal in the same way.
      if !isGreeted { Hello(capabilities: .descriptors).append(to: buffer) }
      buffer.appendFrame(Refusal(error.code), serial: 0, text: error.message)
      sayLast(ByteSlice(buffer, start..<buffer.count), to: connection)
    }
    if connection.isStored { store?.forget(connection: connection.descriptor) }
    connection.isStored = false
    recorder.setFlag(.detached, of: connection)
    if isIncomplete { recorder.setFlag(.incomplete, of: connection) }
    UnixSocket.shutdown(connection.descriptor)
  }

  /// Says something to a connection that is shut then, if the kernel takes it.
  private func sayLast(_ slice: ByteSlice, to connection: Connection) {
    sender.gather.append(slice.range, of: slice.buffer)
    do throws(Errno) {
      _ = try sender.gather.send(to: connection.descriptor)
    } catch {
      context.log.debug("connection \(connection.id) does not learn that it has to connect again: \(error)")
    }
  }

  /// The core may want to speak to connections that have not come back.
  private func carryOutEffectsForThoseWhoAreThere() {
    bus.value.dropEffects(where: { effect in
      guard let slot = effect.slot else { return false }
      return sessions.connection(ifAt: slot.index) == nil
    })
    interpreter.carryOutEffects()
  }

  /// Writes to the journal what was found.
  func logResult() {
    if let damage { context.log.warning("the state is damaged: \(damage)") }
    if replayed.uselessCount > 0 {
      context.log.warning("\(replayed.uselessCount.counted("record")) of the state cannot be made use of")
    }
    let refused = replayed.found.values.count { $0.isRefused }
    if refused > 0 {
      context.log.warning(
        "\(refused.counted("connection has", "connections have")) registered or asked what is refused now, "
          + "and must connect again")
    }
    if !missing.isEmpty {
      let gone = missing.count.counted("connection of the state is", "connections of the state are")
      context.log.notice("\(gone) not there any more")
    }
    if unknownCount > 0 {
      let closed = unknownCount.counted("connection is", "connections are")
      context.log.warning("\(closed) closed of which the state does not know")
    }
    guard !replayed.found.isEmpty else { return }
    if recorder.wal.usedLength > recorder.wal.admissionLimit {
      context.log.warning(
        """
        the state has \(recorder.wal.usedLength) bytes of what lasts, and StateMax= lets it grow to \(recorder.wal.admissionLimit): \
        until it is less, delegates, holds, declarations and queries are refused
        """)
    }
    let restarted = sessions.all.count { $0.isDetached }
    if restarted > 0 {
      context.log.warning("\(restarted.counted("connection has", "connections have")) to connect again")
    }
    context.log.info(
      "took over \((sessions.count - restarted).counted("connection"))"
        + (isPlanned ? "" : " from a daemon that has not handed them over"))
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// How a daemon goes on where another one ended: by its own will, having handed everything over, or not.
extension BusServer {
  /// How long a connection that has to connect again keeps what it had registered.
  private static let detachedNanoseconds: UInt64 = 5_000_000_000

  /// More ids than have been given since the log last said one, where nothing else is known of them.
  private static let idsSkipped: UInt64 = 1 << 32

  /// Replays the state, and goes on with the connections that are there.
  ///
  /// - Parameter passed: what lay in the store, or was handed over.
  func takeOver(_ passed: PassedAtStart) {
    var (replayed, damage) = replayLog(with: passed)
    let streams = handedOverIO(replayed, passed)
    for (id, connection) in replayed.found {
      let cell = wal.counters(of: connection.facts.slot)
      replayed.found[id]?.judge(by: cell, id: ConnectionID(rawValue: id), isHandedOver: streams != nil)
      if damage != nil { replayed.found[id]?.fate = .restarts(isTold: false) }
    }
    skipGivenIDs(damage)
    let ids = replayed.found.keys.sorted()
    var missing: [ConnectionSlot] = []
    for id in ids {
      guard let found = replayed.found[id] else { continue }
      guard let socket = socket(of: found, passed), adopt(socket, ConnectionID(rawValue: id), found) else {
        if found.facts.isOpen { missing.append(ConnectionSlot(index: found.facts.slot)) }
        continue
      }
    }
    sessions.collectFreeSlots()
    let unknown = closeUnknown(passed)
    beginTransaction()
    logDetached(of: replayed)
    for id in ids { resume(ConnectionID(rawValue: id), replayed.found[id], streams?[id], passed) }
    for slot in missing { bus.disconnect(slot, at: now) }
    bus.finishRestoring(at: now)
    carryOutEffectsForThoseWhoAreThere()
    bus.advance(to: now)
    carryOutEffects()
    wal.setLast(.connection, sessions.lastID.rawValue)
    noteGivenIDs()
    // All of that becomes visible at once, and before any of it is sent: what is said here is said because of what no
    // entry but those of the compaction's end tells.
    compactor.compactWhole(committing: true, at: now)
    endTransaction()
    noteInFlight()
    removeInheritedFiles(passed)
    _ = endIteration()
    logTakeOver(replayed, damage, missing: missing.count, unknown: unknown, isPlanned: streams != nil)
  }

  /// Whatever of the log is lost, or had no room in it, no id is given twice.
  private func skipGivenIDs(_ damage: LogDamage?) {
    var isDamaged = false
    func last(_ id: IDSequence, known: UInt64) -> UInt64 {
      switch wal.last(id) {
      case .given(let number): return max(number, known)
      // As many as what is lost has bytes: all that can be said of what an older daemon left.
      case .unwritten: return known + UInt64(damage?.unreadLength ?? 0)
      case .damaged:
        isDamaged = true
        return known + Self.idsSkipped
      }
    }
    let known = bus.highest
    bus.skip(
      query: last(.query, known: known.query), delegate: last(.delegate, known: known.delegate))
    sessions.noteGiven(ConnectionID(rawValue: last(.connection, known: sessions.lastID.rawValue)))
    guard isDamaged else { return }
    log.warning("the state is damaged where it says which ids were given: they go on much higher")
  }

  /// Closes the connections that the state does not know: neither what is under way on them nor what they have registered
  /// can be told.
  private func closeUnknown(_ passed: PassedAtStart) -> Int {
    let cookies = passed.connectionCookies
    for cookie in cookies {
      guard let socket = passed.takeConnection(cookie: cookie) else { continue }
      store?.forget(connection: socket)
      UnixSocket.shutdown(socket)
    }
    return cookies.count
  }

  /// The socket of a connection. One that is only there for what it had registered has none, and no use for any.
  private func socket(of found: FoundConnection, _ passed: PassedAtStart) -> FileDescriptor? {
    if let socket = passed.takeConnection(cookie: found.facts.cookie) {
      if found.isDetached { store?.forget(connection: socket) }
      return socket
    }
    guard found.isDetached else { return nil }
    do throws(Errno) {
      return try FileDescriptor.duplicate(of: wal.rawDescriptor)
    } catch {
      log.warning("what a connection had registered is lost: \(error)")
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
        log.warning("cannot go on with connection \(id): \(error)")
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
  private func logDetached(of replayed: ReplayedLog) {
    let due = now.advanced(byNanoseconds: Self.detachedNanoseconds)
    for connection in sessions.all where connection.isDetached {
      let known = replayed.found[connection.id.rawValue]?.detachedUntil
      if known == nil { record(.detached, of: connection.id, at: due, RawSpan()) }
      timeouts.insert(.detached, connection.token, due: min(known ?? due, due))
    }
    // Before its cell is one in which nothing is under way.
    commit()
  }

  /// Goes on with what was under way on a connection.
  private func resume(
    _ id: ConnectionID, _ found: FoundConnection?, _ streams: InFlightIO?, _ passed: PassedAtStart
  ) {
    guard let found, let connection = sessions[id] else { return }
    adoptCell(of: connection, found)
    switch found.fate {
    case .survives:
      if let streams { restore(streams, of: connection, passed) }
      // Without the rest of a frame, nothing can be said behind its beginning.
      if found.isMidFrame, !connection.queue.isMidFrame { connection.isWriteClosed = true }
    case .loses(let count): restore(found, having: count, of: connection)
    case .restarts(let isTold):
      // Where nothing was to outlive the daemon, what was sent is not counted.
      let isGreeted = store == nil ? found.facts.isOpen : found.controlSent > 0
      detached(connection, isTold: isTold, isGreeted: isGreeted, isIncomplete: found.isIncomplete)
    }
    noteBuffered(for: connection)
    if connection.phase == .awaitingHello {
      timeouts.insert(
        .hello, connection.token, due: now.advanced(byNanoseconds: configuration.helloTimeoutNanoseconds))
    }
  }

  /// Goes on with a connection's cell as it is: until the take-over is committed, the next daemon may have to judge by it
  /// once more.
  private func adoptCell(of connection: Connection, _ found: FoundConnection) {
    let slot = connection.slot.index
    connection.traffic.value.queuedCount = found.queuedCount
    connection.traffic.value.bufferedBefore = found.bufferedCount
    if let cell = wal.counters(of: slot), cell.connection == connection.id {
      connection.traffic.value.sessionFlags = cell.flags
    } else {
      // It is damaged, and nothing is known of the connection but what it had registered.
      wal.assignSlot(slot, to: connection.id, flags: .detached)
      connection.traffic.value.sessionFlags = .detached
    }
  }

  /// What was under way is the bus's own again, and so are the cells.
  private func noteInFlight() {
    guard outlivesDeath else { return }
    for connection in sessions.all where !connection.isDetached {
      noteSent(to: connection)
      noteMidFrame(of: connection)
      if connection.isWriteClosed { setFlag(.sending, of: connection) }
      noteReceived(from: connection)
    }
  }

  /// Queues what must not be lost, behind the number of what is. Before that, nothing but what greets it has a place.
  private func restore(_ found: FoundConnection, having lost: UInt32, of connection: Connection) {
    // The bus's hello, and the welcome.
    let greeting = found.said.prefix(Int(2 - min(found.controlSent, 2)))
    restore(greeting, of: connection)
    if lost > 0 {
      statistics.lost += UInt64(lost)
      let before = connection.queue.byteCount
      connection.queue.appendLost(UInt64(lost))
      queuedByteCount += connection.queue.byteCount - before
      scheduleFlush(connection)
    }
    restore(found.said[greeting.endIndex...], of: connection)
  }

  private func restore(_ said: ArraySlice<(number: UInt32, frame: ByteBuffer)>, of connection: Connection) {
    for (_, frame) in said {
      enqueue(ByteSlice(frame, 0..<frame.count), for: connection, isNotification: false)
    }
  }

  /// Ends a connection that cannot go on, and keeps what it had registered until it has connected again.
  ///
  /// - Parameter isIncomplete: not all of that is known.
  private func detached(_ connection: Connection, isTold: Bool, isGreeted: Bool, isIncomplete: Bool) {
    if isTold {
      let error = WireError(.restarted, "the bus was restarted while a frame was under way")
      let buffer = bufferToEncode()
      let start = buffer.count
      // A client reads every refusal in the same way.
      if !isGreeted { Hello(capabilities: .descriptors).append(to: buffer) }
      buffer.appendFrame(Refusal(error.code), serial: 0, text: error.message)
      sayLast(ByteSlice(buffer, start..<buffer.count), to: connection)
    }
    if connection.isStored { store?.forget(connection: connection.descriptor) }
    connection.isStored = false
    setFlag(.detached, of: connection)
    if isIncomplete { setFlag(.incomplete, of: connection) }
    UnixSocket.shutdown(connection.descriptor)
  }

  /// Says something to a connection that is shut then, if the kernel takes it.
  private func sayLast(_ slice: ByteSlice, to connection: Connection) {
    gather.append(slice.range, of: slice.buffer)
    do throws(Errno) {
      _ = try gather.send(to: connection.descriptor)
    } catch {
      log.debug("connection \(connection.id) does not learn that it has to connect again: \(error)")
    }
  }

  /// Hands what a detached connection has missed to the connection that has come in its place.
  ///
  /// - Throws: `malformedFrame`.
  func succeed(_ frame: FrameView, by connection: Connection) throws(WireError) {
    let fields = try frame.decode(Succeed.self)
    // All processes outside the bus's pid namespace have pid 0: it identifies none of them.
    guard let detached = sessions[fields.predecessor],
      detached.isDetached, connection.peer.pid != 0, detached.peer.pid == connection.peer.pid,
      detached.peer.uid == connection.peer.uid
    else {
      refuse(
        connection, serial: frame.header.serial,
        WireError(.notFound, "no connection \(fields.predecessor) of this process waits to be succeeded"))
      return
    }
    // What it observed for want of room in the state, or what was refused when it was replayed, is not counted.
    guard !detached.traffic.value.sessionFlags.contains(.incomplete) else {
      close(detached)
      refuse(
        connection, serial: frame.header.serial,
        WireError(.notFound, "not all is known of what connection \(fields.predecessor) had registered"))
      return
    }
    let counted = detached.traffic.value.queuedCount &+ bufferedCount(of: detached)
    let missed = Int32(bitPattern: counted &- UInt32(truncatingIfNeeded: fields.received))
    if missed > 0 { tellLost(UInt64(missed), to: connection) }
    close(detached)
    say(Okay(), to: connection, serial: frame.header.serial)
  }

  /// The core may want to speak to connections that have not come back.
  private func carryOutEffectsForThoseWhoAreThere() {
    bus.dropEffects(where: { effect in
      guard let slot = effect.slot else { return false }
      return sessions.connection(ifAt: slot.index) == nil
    })
    carryOutEffects()
  }

  private func logTakeOver(
    _ replayed: ReplayedLog, _ damage: LogDamage?, missing: Int, unknown: Int, isPlanned: Bool
  ) {
    if let damage { log.warning("the state is damaged: \(damage)") }
    if replayed.uselessCount > 0 {
      log.warning("\(replayed.uselessCount.counted("record")) of the state cannot be made use of")
    }
    let refused = replayed.found.values.count { $0.isRefused }
    if refused > 0 {
      log.warning(
        "\(refused.counted("connection has", "connections have")) registered or asked what is refused now, "
          + "and must connect again")
    }
    if missing > 0 {
      let gone = missing.counted("connection of the state is", "connections of the state are")
      log.notice("\(gone) not there any more")
    }
    if unknown > 0 {
      let closed = unknown.counted("connection is", "connections are")
      log.warning("\(closed) closed of which the state does not know")
    }
    guard !replayed.found.isEmpty else { return }
    if wal.usedLength > wal.admissionLimit {
      log.warning(
        """
        the state has \(wal.usedLength) bytes of what lasts, and StateMax= lets it grow to \(wal.admissionLimit): \
        until it is less, delegates, holds, declarations and queries are refused
        """)
    }
    let restarted = sessions.all.count { $0.isDetached }
    if restarted > 0 {
      log.warning("\(restarted.counted("connection has", "connections have")) to connect again")
    }
    log.info(
      "took over \((sessions.count - restarted).counted("connection"))"
        + (isPlanned ? "" : " from a daemon that has not handed them over"))
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

struct ReplayedLog {
  var found: [UInt64: FoundConnection] = [:]
  var takenSlots: Set<Int> = []
  var givenDelegates: Set<UInt64> = []
  var handedOver: (file: UInt64, moment: Instant)?
  var skippedCount = 0
  /// The state that the log restores. Only in debug builds.
  var digest: BusDigest?
}

/// Rebuilds a bus's state from its log.
extension Recovery {
  /// The core must be empty. Drops all effects that the replay produces.
  func replayLog() -> (ReplayedLog, LogDamage?) {
    var replayed = ReplayedLog()
    bus.value.beginReplay()
    let damage = wal.forEachEntry { entry in
      do throws(WireError) {
        if try !replay(entry, into: &replayed) { replayed.skippedCount += 1 }
      } catch {
        let kind = entry.kind.map { "\($0)" } ?? "\(entry.rawKind)"
        context.log.debug("cannot replay log entry \(entry.position.offset) (\(kind)): \(error.message)")
        replayed.skippedCount += 1
      }
      bus.value.dropEffects()
    }
    #if DEBUG
      replayed.digest = bus.value.digest()
    #endif
    bus.value.endReplay()
    bus.value.apply(context.configuration, at: context.now, log: context.log)
    // Each counter slot has the id of its last connection. New ids must be higher than all these ids.
    wal.forEachSession { counters in
      let id = counters.connection.rawValue
      if id <= BusCounters.most { sessions.raiseLastID(to: counters.connection) }
    }
    return (replayed, damage)
  }

  private func replay(_ entry: LogEntry, into replayed: inout ReplayedLog) throws(WireError) -> Bool {
    // A log that a newer version of the bus wrote can contain kinds that this version does not know.
    guard let kind = entry.kind else { return true }
    let id = entry.connection.rawValue
    // An id above `BusCounters.most` is corrupt.
    guard id <= BusCounters.most else { return false }
    sessions.raiseLastID(to: entry.connection)
    var reader = FieldReader(entry.body)
    switch kind {
    case .counters: restore(try LoggedCounters(from: &reader))
    case .connect:
      let facts = try ConnectionFacts(from: &reader)
      // A connection that was handed over before its hello is logged again after its hello.
      if let known = replayed.found[id], !known.facts.isOpen {
        replayed.found[id] = nil
        replayed.takenSlots.remove(known.facts.slot)
      }
      guard id != 0, replayed.found[id] == nil, facts.slot < wal.slotCount,
        replayed.takenSlots.insert(facts.slot).inserted
      else { return false }
      replayed.found[id] = FoundConnection(facts: facts, positions: LogPositions(connect: entry.position))
      if facts.isOpen {
        bus.value.connect(
          ConnectionSlot(index: facts.slot), id: entry.connection, peer: facts.peer, subject: facts.subject)
      }
    case .frame: return try replayFrame(entry, into: &replayed)
    case .disconnect:
      // A compaction can already have dropped the connect entry.
      guard let gone = replayed.found.removeValue(forKey: id) else { return true }
      replayed.takenSlots.remove(gone.facts.slot)
      if gone.facts.isOpen { bus.value.disconnect(ConnectionSlot(index: gone.facts.slot), at: entry.moment) }
    case .advance:
      let end = Instant(nanoseconds: try reader.integer())
      var unheard: Set<ConnectionSlot> = []
      while !reader.isAtEnd {
        guard let found = replayed.found[try reader.integer()], found.facts.isOpen else { continue }
        unheard.insert(ConnectionSlot(index: found.facts.slot))
      }
      bus.value.advance(to: entry.moment, waitingFor: unheard, until: end)
    case .retained: try replayRetained(entry.body)
    case .query: try bus.value.restoreQuery(entry.body, at: entry.moment)
    case .action: try bus.value.restoreAction(entry.body)
    case .questionTurns: try bus.value.restoreTurns(entry.body, of: entry.connection)
    case .questionsRead:
      guard let found = replayed.found[id], found.facts.isOpen else { return true }
      bus.value.markRead(by: ConnectionSlot(index: found.facts.slot), at: entry.moment)
    case .awaitedPost: try bus.value.restoreAwaitedPost(entry.body, at: entry.moment)
    case .abandonment:
      guard let found = replayed.found[id], found.facts.isOpen else { return true }
      let poster = ConnectionID(rawValue: try reader.integer())
      bus.value.abandon(
        try reader.integer(), of: poster, by: ConnectionSlot(index: found.facts.slot), at: entry.moment)
    case .questionFailure:
      let (query, delegate) = (try reader.integer(UInt64.self), try reader.integer(UInt64.self))
      bus.value.failQuestion(
        QueryID(rawValue: query), DelegateID(rawValue: delegate), reason: try reader.text(), at: entry.moment
      )
    case .controlFrame:
      replayed.found[id]?.controlFrames.append(
        (ControlFrameID(entry.moment).number, ByteBuffer(holding: entry.body)))
    case .postponedPost, .postponedPostDone: try replayWaiting(entry)
    case .detached: replayed.found[id]?.detachedUntil = entry.moment
    case .succession:
      replayed.found[id]?.predecessors.append(ConnectionID(rawValue: try reader.integer()))
    case .inFlight, .buffered: return false
    case .configuration: try bus.value.restoreConfiguration(entry.body)
    case .registrationEnds:
      var ended: [RegistrationPlace] = []
      var known: Set<RegistrationPlace> = []
      while !reader.isAtEnd {
        let (id, serial) = (try reader.integer(UInt64.self), try reader.integer(Serial.self))
        guard let found = replayed.found[id], found.facts.isOpen else { continue }
        let place = RegistrationPlace(ConnectionSlot(index: found.facts.slot), serial)
        // Only a damaged log names a registration twice.
        if known.insert(place).inserted { ended.append(place) }
      }
      bus.value.endRegistrations(ended, at: entry.moment)
    case .handoverEnd: replayed.handedOver = (try reader.integer(), entry.moment)
    }
    return true
  }

  private func replayFrame(_ entry: LogEntry, into replayed: inout ReplayedLog) throws(WireError) -> Bool {
    guard let found = replayed.found[entry.connection.rawValue] else { return true }
    guard found.facts.isOpen, let recorded = LoggedFrame(entry.body) else { return false }
    // The log has only frames that an earlier daemon accepted. If this frame is a request, this method first
    // sets `isRefused`. When the core has accepted the request, the method restores the former value below.
    let isRequest = recorded.kind?.effect?.isRequest == true
    replayed.found[entry.connection.rawValue]?.isRefused = found.isRefused || isRequest
    guard max(recorded.lastQuery, recorded.lastDelegate) <= BusCounters.most else { return false }
    let buffer = ByteBuffer(holding: recorded.bytes)
    guard let header = try FrameHeader(buffer.bytes, at: 0, limits: .fromBus),
      header.frameLength == buffer.count
    else { return false }
    // The bus does not reuse ids, so a log that reuses one is damaged, even if its checksums are right.
    switch header.kind {
    case .ask where bus.value.isUnderWay(QueryID(rawValue: recorded.lastQuery + 1)): return false
    case .begin where bus.value.isUnderWay(QueryID(rawValue: recorded.lastQuery + 1)): return false
    case .attach where replayed.givenDelegates.contains(recorded.lastDelegate + 1): return false
    case .hold where replayed.givenDelegates.contains(recorded.lastDelegate + 1): return false
    default: break
    }
    let slot = ConnectionSlot(index: found.facts.slot)
    bus.value.setLast(query: recorded.lastQuery, delegate: recorded.lastDelegate)
    let receipt = try bus.value.replay(
      FrameView(header, buffer.bytes), with: recorded.context, in: ByteSlice(buffer, 0..<buffer.count),
      from: slot, at: entry.moment)
    guard case .accepted(let acceptance) = receipt else { return true }
    if let delegate = acceptance.delegate { replayed.givenDelegates.insert(delegate.rawValue) }
    replayed.found[entry.connection.rawValue]?.isRefused = found.isRefused
    if header.kind == .suspend {
      replayed.found[entry.connection.rawValue]?.positions.suspend = entry.position
    } else if acceptance.isRegistered {
      replayed.found[entry.connection.rawValue]?.positions.registrations[header.serial] = entry.position
    }
    return true
  }

  private func restore(_ counters: LoggedCounters) {
    bus.value.setLast(query: counters.bus.lastQuery, delegate: counters.bus.lastDelegate)
    sessions.raiseLastID(to: counters.lastConnection)
  }

  private func replayRetained(_ body: RawSpan) throws(WireError) {
    var reader = FieldReader(body)
    guard try reader.flag() else {
      let (name, object) = (try reader.text(), try reader.text())
      bus.value.forgetRetained(name: name, object: object)
      recorder.retainedFiles.value[RetainedFiles.key(name, object)] = nil
      return
    }
    let found: (inode: UInt64, file: InFlightFile)?
    do throws(WireError) {
      found = try file(from: &reader)
    } catch {
      // The keeper has closed the file, because the bus has replaced or forgotten this notification. A later
      // entry in the log says so, unless that entry was lost because the log is damaged.
      let key = try bus.value.forgetRetained(body.extracting(droppingFirst: RetainedFiles.headLength))
      recorder.retainedFiles.value[RetainedFiles.key(key.name, key.object)] = nil
      return
    }
    let fields = body.extracting(droppingFirst: RetainedFiles.headLength)
    let kept = try bus.value.restoreRetained(fields, attachment: found?.file)
    recorder.retainedFiles.value[RetainedFiles.key(kept.name, kept.object)] = found?.inode
  }

  private func replayWaiting(_ entry: LogEntry) throws(WireError) {
    var reader = FieldReader(entry.body)
    let number: UInt64 = try reader.integer()
    guard entry.kind == .postponedPost else {
      bus.value.forgetWaiting(number: number)
      recorder.postponed.remove(number)
      return
    }
    let uid: UInt32 = try reader.integer()
    try bus.value.restoreWaiting(
      entry.body.extracting(droppingFirst: 12), number: number, from: entry.connection, uid: uid,
      at: entry.moment)
    recorder.postponed.insert(number)
  }
}

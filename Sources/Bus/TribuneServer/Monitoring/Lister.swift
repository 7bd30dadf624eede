// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribunePolicy
import TribuneSystem
import TribuneWire

/// Answers `list` requests, and makes the status line.
final class Lister {
  var address = ""
  private let context: ServerContext
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let interpreter: Interpreter
  private let replier: Replier
  private let keeper: KeeperLink
  private let wal: WriteAheadLog
  private let timeShares: TimeShares
  private let started: Instant

  init(_ interpreter: Interpreter, _ timeShares: TimeShares, _ context: ServerContext) {
    (bus, sessions, replier) = (context.bus, context.sessions, interpreter.replier)
    (keeper, wal) = (interpreter.recorder.keeper, interpreter.recorder.wal)
    (self.interpreter, self.timeShares, self.context) = (interpreter, timeShares, context)
    started = context.now
  }

  var status: String {
    """
    \(sessions.count.counted("connection")), \(bus.value.observationCount.counted("observation")), \
    \(bus.value.delegateCount.counted("delegate")); \(context.statistics.value.posted) posted, \
    \(context.statistics.value.lost) lost; \(bus.value.totals.asked) asked, \(bus.value.totals.vetoed) vetoed
    """
  }

  var changeCount: UInt64 {
    // The first two terms are the number of arrived plus departed connections. This sum only grows.
    2 &* sessions.lastID.rawValue &- UInt64(sessions.count) &+ context.statistics.value.posted
      &+ context.statistics.value.lost &+ bus.value.changeCount
  }

  // MARK: Lists

  private func begin(_ listing: Listing, for session: Session) throws(WireError) {
    let (request, slot, now) = (listing.request, session.slot, context.now)
    let frame = FrameView(listing.header, request.bytes)
    let list = try frame.decode(List.self)
    let visible = bus.value.visibleUsers(for: slot)
    switch list.subject {
    case .bus: listing.parts = parts(of: CollectionOfOne(busEntry)) { .bus($0) }
    case .connections:
      listing.parts = parts(of: connections(list.connection)) { [self] id in
        visible.contains(peer(of: id)?.uid) ? entry(of: id) : nil
      }
    case .observations:
      listing.parts = parts(of: connections(list.connection)) { [bus] id in
        bus.value.observationEntries(of: id.rawValue, for: slot).map { .observation($0) }
      }
    case .delegates:
      listing.parts = parts(of: connections(list.connection)) { [bus] id in
        bus.value.delegateEntries(of: id.rawValue, for: slot).map { .delegate($0) }
      }
      listing.arrange = Self.byNumber
    case .holds:
      listing.parts = parts(of: connections(list.connection)) { [bus] id in
        bus.value.holdEntries(of: id.rawValue, for: slot, at: now).map { .hold($0) }
      }
      listing.arrange = Self.byNumber
    case .queries:
      listing.parts = parts(of: connections(list.connection)) { [bus] id in
        bus.value.queryEntries(of: id, for: slot, at: now).map { .query($0) }
      }
      listing.arrange = Self.byNumber
    case .users:
      let users = Cell(UserTraffic(with: sessions.goneTraffic.value, visible: visible))
      listing.parts = parts(of: connections(list.connection)) { [self] id in
        add(id, to: &users.value, visible)
        return []
      }
      listing.arrange = { _ in users.value.entries.map { .user($0) } }
    case .departed:
      let departed = sessions.departed.value.all(at: now)
      listing.parts = parts(of: departed) { [self] connection in
        let isListed = list.connection == 0 || connection.id.rawValue == list.connection
        return isListed && visible.contains(connection.peer.uid) ? .departed(entry(of: connection)) : nil
      }
    case .names:
      listing.parts = parts(of: bus.value.nameEntries) { [bus] entry in
        bus.value.mayList(entry, for: slot) ? .name(entry) : nil
      }
    case .verdicts:
      guard !context.log.hasJournal else {
        throw WireError(.notFound, "the bus writes its verdicts to the journal")
      }
      let time = SystemClock.wallMicroseconds
      listing.parts = parts(of: context.log.recentVerdicts) { [bus] kept in
        let verdict = kept.verdict
        guard list.connection == 0 || list.connection == verdict.askerConnection.rawValue,
          bus.value.mayList(verdict.name, object: verdict.object, askedBy: verdict.asker.uid, for: slot)
        else { return nil }
        return .verdict(kept.entry(at: time))
      }
    case .participants:
      listing.parts = parts(of: bus.value.participantEntries(for: slot)) { .participant($0) }
    case .chain:
      let (entries, delegates) = try bus.value.explain(frame, for: slot, at: now)
      let rest = parts(of: delegates) { [bus] delegate in
        delegate.isAttached ? bus.value.listableEntry(of: delegate, for: slot).map { .delegate($0) } : nil
      }
      listing.parts = AnyIterator([parts(of: entries) { $0 }, rest].joined().makeIterator())
    case .endings:
      let rules = AccessRules.ofBus(try PolicyFields(frame.payload).policy())
      listing.parts = parts(of: try bus.value.endings(by: rules, for: slot)) { .ending($0) }
    case .access:
      guard let question = list.question else { preconditionFailure("a list of access has no question") }
      listing.parts = parts(
        of: try bus.value.explainAccess(frame, question, of: list.connection, for: slot)
      ) { $0 }
    case .objects:
      try bus.value.requirePermissionToListAll(from: slot)
      listing.parts = parts(of: bus.value.objectEntries(of: list.connection)) { .object($0) }
    case .protocols:
      try bus.value.requirePermissionToListAll(from: slot)
      listing.parts = parts(of: bus.value.protocolEntries(of: list.connection)) { .protocol($0) }
    case .members:
      try bus.value.requirePermissionToListAll(from: slot)
      listing.parts = parts(of: try bus.value.memberEntries(of: frame.object)) { .member($0) }
    case .accounts:
      interpreter.sender.unreadFiles.examineIfDue()
      listing.parts = parts(of: bus.value.accountEntries(for: slot)) { .account($0) }
    case .retained:
      let retained = bus.value.retainedNotifications(of: list.connection, for: slot)
      listing.parts = parts(of: retained) { [bus] notification in
        bus.value.listableEntry(of: notification, for: slot, at: now).map { .retained($0) }
      }
      listing.arrange = Self.byName
    }
  }

  private func parts<Items: Sequence>(
    of items: Items, _ entries: @escaping (Items.Element) -> [Entry]
  ) -> AnyIterator<[Entry]> {
    AnyIterator(items.lazy.map(entries).makeIterator())
  }

  private func parts<Items: Sequence>(
    of items: Items, _ entry: @escaping (Items.Element) -> Entry?
  ) -> AnyIterator<[Entry]> {
    AnyIterator(items.lazy.map { entry($0).map { [$0] } ?? [] }.makeIterator())
  }

  private func enqueue(_ entries: some Sequence<Entry>, _ serial: Serial, for session: Session) {
    for entry in entries {
      guard session.isServed else { return }
      replier.enqueue(entry, for: session, serial: serial, isRecorded: false)
      interpreter.relieveAndAnnounceIfNeeded()
    }
  }

  // MARK: Lists under way

  private func connections(_ number: UInt64) -> [ConnectionID] {
    // Sort by id. The order of slots is arbitrary, because the bus reuses slots.
    (sessions.all.filter(\.isOpen).map(\.id) + sessions.allDetached.map(\.id))
      .filter { number == 0 || $0.rawValue == number }
      .sorted()
  }

  /// - Returns: false if time is over before the list is complete.
  func goOn(_ listing: Listing, for session: Session, while hasTime: () -> Bool) throws(WireError) -> Bool {
    // A read can contain over a thousand requests. If the bus dismisses the client meanwhile, skip the rest.
    guard session.output.accepts else { return true }
    if !listing.hasBegun {
      do throws(WireError) {
        try begin(listing, for: session)
      } catch {
        guard !error.code.closesConnection else { throw error }
        replier.refuse(session, serial: listing.header.serial, error)
        return true
      }
      if !hasTime() { return false }
    }
    while let part = listing.next() {
      enqueue(part, listing.header.serial, for: session)
      guard session.isServed else { return true }
      if !hasTime() { return false }
    }
    replier.enqueue(Okay(), for: session, serial: listing.header.serial)
    return true
  }

  func end(_ listing: Listing, for session: Session) {
    let error = WireError(.cancelled, "the bus is restarted, and has no time for the rest of the list")
    replier.refuse(session, serial: listing.header.serial, error)
  }

  private static func byNumber(_ entries: [Entry]) -> [Entry] { entries.sorted { $0.number < $1.number } }

  private static func byName(_ entries: [Entry]) -> [Entry] { entries.sorted { $0.key < $1.key } }

  private func add(_ id: ConnectionID, to users: inout UserTraffic, _ visible: VisibleUsers) {
    // A connection that left after the list began still counts: a user's counters must not fall from one list
    // to the next.
    let gone = peer(of: id) == nil ? sessions.departed.value.connection(id, at: context.now) : nil
    guard let peer = peer(of: id) ?? gone?.peer, visible.contains(peer.uid),
      let traffic = sessions[id]?.countedTraffic() ?? sessions.detached(id)?.countedTraffic() ?? gone?.traffic
    else { return }
    users.add(traffic, of: peer)
  }

  private func peer(of id: ConnectionID) -> PeerIdentity? {
    sessions[id]?.peer ?? sessions.detached(id)?.peer
  }

  private var busEntry: BusEntry {
    var entry = BusEntry()
    entry.pid = ThisProcess.id
    entry.software = Version.current
    entry.address = address
    entry.uptime = context.now.nanoseconds(since: started) / 1000
    entry.connections = UInt32(clamping: sessions.count)
    entry.observations = UInt32(clamping: bus.value.observationCount)
    entry.delegates = UInt32(clamping: bus.value.delegateCount)
    entry.queries = UInt32(clamping: bus.value.queryCount)
    entry.posted = context.statistics.value.posted
    entry.delivered = context.statistics.value.delivered
    entry.lost = context.statistics.value.lost
    entry.asked = bus.value.totals.asked
    entry.vetoed = bus.value.totals.vetoed
    entry.holds = UInt32(clamping: bus.value.holdCount)
    entry.actions = UInt32(clamping: bus.value.actionCount)
    entry.denied = context.statistics.value.denied
    entry.refused = context.statistics.value.refused
    entry.postedBytes = context.statistics.value.postedBytes
    entry.iterations = timeShares.iterationCount
    entry.busy = SystemClock.threadNanoseconds / 1000
    entry.longest = timeShares.longestIterationNanoseconds(at: context.now) / 1000
    entry.logUsed = UInt64(wal.usedLength)
    entry.logMax = UInt64(wal.admissionLimit)
    entry.kept = UInt32(clamping: keeper.descriptorCount)
    return entry
  }

  /// True if a restart with a keeper keeps the connection. Also true for a connection that the bus has not
  /// yet given to the keeper (`isKept`), although only a planned restart keeps such a connection.
  private func survives(_ session: Session) -> Bool {
    let isKept = !session.isKept || keeper.isKept(.connection(session.cookie))
    return isKept && !session.output.flags.contains(.incomplete)
  }

  private func entry(of id: ConnectionID) -> Entry? {
    if let session = sessions[id] {
      var entry = entry(id, at: session.slot, session.peer, since: session.connected)
      entry.queued = UInt64(session.output.byteCount)
      entry.setTraffic(session.countedTraffic(), session.inherited)
      entry.pauses = session.pacing.pauses.count
      entry.pausedTime = session.pacing.pauses.nanoseconds(at: context.now) / 1000
      entry.lossyTime = session.pacing.lossyTimes.nanoseconds(at: context.now) / 1000
      if session.pacing.isPaused { entry.state.insert(.paused) }
      if session.pacing.isLossy { entry.state.insert(.lossy) }
      if survives(session) { entry.state.remove(.notSurviving) }
      return .connection(entry)
    }
    return sessions.detached(id).map { session in
      var entry = entry(id, at: session.slot, session.peer, since: session.connected)
      entry.setTraffic(session.countedTraffic(), session.inherited)
      return .connection(entry)
    }
  }

  private func entry(of connection: DepartedConnection) -> DepartedEntry {
    DepartedEntry(
      id: connection.id, peer: connection.peer,
      age: connection.left.nanoseconds(since: connection.connected) / 1000,
      elapsed: context.now.nanoseconds(since: connection.left) / 1000, reason: connection.reason,
      lost: connection.inherited.lost + connection.traffic.lost, posted: connection.traffic.posted)
  }

  private func entry(
    _ id: ConnectionID, at slot: ConnectionSlot, _ peer: PeerIdentity, since connected: Instant
  ) -> ConnectionEntry {
    let counts = bus.value.counts(at: slot)
    let buffered = bus.value.bufferedByteCount(at: slot)
    return ConnectionEntry(
      id: id, peer: peer, age: context.now.nanoseconds(since: connected) / 1000,
      observations: UInt32(clamping: counts.observations), delegates: UInt32(clamping: counts.delegates),
      queries: UInt32(clamping: counts.queries), queued: 0, lost: 0, posted: 0,
      state: buffered == nil ? .notSurviving : [.suspended, .notSurviving], buffered: UInt64(buffered ?? 0),
      coalesced: bus.value.coalescedCount(at: slot))
  }
}

extension ConnectionEntry {
  fileprivate nonisolated mutating func setTraffic(_ traffic: TrafficCounts, _ inherited: TrafficCounts) {
    posted = traffic.posted
    postedBytes = traffic.postedBytes
    delivered = inherited.delivered + traffic.delivered
    lost = inherited.lost + traffic.lost
    asked = traffic.asked
    denied = traffic.denied
    refused = traffic.refused
  }
}

extension Entry {
  /// Numbers follow the order of creation.
  fileprivate nonisolated var number: UInt64 {
    switch self {
    case .delegate(let entry): entry.delegate.id.rawValue
    case .hold(let entry): entry.delegate.id.rawValue
    case .query(let entry): entry.id.rawValue
    default: 0
    }
  }

  fileprivate nonisolated var key: (String, String) {
    if case .retained(let entry) = self { (entry.name, entry.object) } else { ("", "") }
  }
}

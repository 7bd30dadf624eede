// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribunePolicy
import TribuneSystem
import TribuneWire

/// Answers `list` requests, and has the status line.
final class Lister {
  /// The address of the bus, as lists show it.
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

  init(
    _ bus: Cell<Bus>.Reference, _ sessions: SessionTable, _ interpreter: Interpreter, _ replier: Replier,
    _ keeper: KeeperLink, _ wal: WriteAheadLog, _ timeShares: TimeShares, _ context: ServerContext
  ) {
    (self.bus, self.sessions, self.interpreter) = (bus, sessions, interpreter)
    (self.replier, self.keeper, self.wal) = (replier, keeper, wal)
    (self.timeShares, self.context) = (timeShares, context)
    started = context.now
  }

  /// The status of the service, in a line.
  var status: String {
    """
    \(sessions.count.counted("connection")), \(bus.value.observationCount.counted("observation")), \
    \(bus.value.delegateCount.counted("delegate")); \(context.statistics.value.posted) posted, \
    \(context.statistics.value.lost) lost; \(bus.value.totals.asked) asked, \(bus.value.totals.vetoed) vetoed
    """
  }

  /// Differs whenever the figures of the status may have changed.
  var changeCount: UInt64 {
    // The connections that have come, and those that have gone: the sum only grows.
    2 &* sessions.lastID.rawValue &- UInt64(sessions.count) &+ context.statistics.value.posted
      &+ context.statistics.value.lost &+ bus.value.changeCount
  }

  // MARK: Lists

  /// Answers a `list`, or begins a `Listing`.
  ///
  /// - Throws: an error that ends the connection.
  func list(_ frame: FrameView, for session: Session) throws(WireError) {
    // One read can hold more than a thousand of these, from a peer that did not wait for the first answer.
    guard session.output.accepts else { return }
    timeShares.noteMuchWork()
    let serial = frame.header.serial
    func send(_ entries: some Sequence<Entry>) { self.send(entries, serial, to: session) }
    do throws(WireError) {
      let list = try frame.decode(List.self)
      let visible = bus.value.visibleUsers(for: session.slot)
      switch list.subject {
      case .bus: replier.send(Entry.bus(busEntry), to: session, serial: serial)
      case .connections, .observations, .delegates, .holds, .queries, .users:
        let listing = Listing(list.subject, serial: serial, connections: connections(list.connection))
        if case .users = list.subject {
          listing.users = UserTraffic(
            with: sessions.goneTraffic.value, visible: bus.value.visibleUsers(for: session.slot))
        }
        session.listing = listing
        return
      case .departed:
        let departed = sessions.departed.value.all(at: context.now)
          .filter { list.connection == 0 || $0.id.rawValue == list.connection }
          .filter { visible.contains($0.peer.uid) }
        send(departed.map { .departed(entry(of: $0)) })
      case .names: send(bus.value.nameEntries(for: session.slot).lazy.map { .name($0) })
      case .participants:
        send(bus.value.participantEntries(for: session.slot).lazy.map { .participant($0) })
      case .chain:
        send(try bus.value.explain(frame, for: session.slot, at: context.now))
      case .endings:
        let rules = AccessRules.ofBus(try PolicyFields(frame.payload).policy())
        send(try bus.value.endings(by: rules, for: session.slot).lazy.map { .ending($0) })
      case .access:
        guard let question = list.question else { preconditionFailure("a list of access has no question") }
        send(try bus.value.explainAccess(frame, question, of: list.connection, for: session.slot))
      case .objects:
        try bus.value.requireListing(from: session.slot)
        send(bus.value.objectEntries(of: list.connection).lazy.map { .object($0) })
      case .protocols:
        try bus.value.requireListing(from: session.slot)
        send(bus.value.protocolEntries(of: list.connection).lazy.map { .protocol($0) })
      case .members:
        try bus.value.requireListing(from: session.slot)
        send(try bus.value.memberEntries(of: frame.object).lazy.map { .member($0) })
      case .accounts:
        interpreter.sender.unreadFiles.examineIfDue()
        send(bus.value.accountEntries(for: session.slot).lazy.map { .account($0) })
      case .retained:
        send(
          bus.value.retainedEntries(of: list.connection, for: session.slot, at: context.now).lazy.map {
            .retained($0)
          })
      }
      replier.send(Okay(), to: session, serial: serial)
    } catch {
      guard !error.code.closesConnection else { throw error }
      replier.refuse(session, serial: serial, error)
    }
  }

  /// Sends entries, until one gets the connection closed.
  private func send(_ entries: some Sequence<Entry>, _ serial: Serial, to session: Session) {
    for entry in entries {
      guard session.isServed else { return }
      replier.send(entry, to: session, serial: serial, isRecorded: false)
      interpreter.settle()
    }
  }

  // MARK: Lists under way

  /// All connections, or the one with that number, the oldest last.
  private func connections(_ number: UInt64) -> [ConnectionID] {
    // Slots are reused, so their order means nothing.
    (sessions.all.filter(\.isOpen).map(\.id) + sessions.allDetached.map(\.id))
      .filter { number == 0 || $0.rawValue == number }
      .sorted { $0 > $1 }
  }

  /// Goes on with a connection's list.
  ///
  /// - Parameter hasTime: asked after each part, which takes some milliseconds at most.
  /// - Returns: whether it is sent.
  func goOn(_ listing: Listing, for session: Session, while hasTime: () -> Bool) -> Bool {
    while let id = listing.connections.popLast() {
      look(at: id, for: listing, of: session)
      guard session.isServed else { return true }
      if !hasTime() { return false }
    }
    if !listing.isComplete {
      listing.isComplete = true
      if let users = listing.users {
        listing.entries = users.entries.map { .user($0) }
      } else {
        listing.entries.sort { $0.number < $1.number }
      }
    }
    while listing.sentCount < listing.entries.count {
      let part = listing.entries[listing.sentCount...].prefix(Self.partCount)
      send(part, listing.serial, to: session)
      guard session.isServed else { return true }
      listing.sentCount += part.count
      if !hasTime() { return false }
    }
    replier.send(Okay(), to: session, serial: listing.serial)
    return true
  }

  /// Entries that are sent at once.
  private static let partCount = 512

  private func look(at id: ConnectionID, for listing: Listing, of session: Session) {
    switch listing.subject {
    case .observations:
      let entries = bus.value.observationEntries(of: id.rawValue, for: session.slot)
      send(entries.lazy.map { .observation($0) }, listing.serial, to: session)
    case .delegates:
      listing.entries += bus.value.delegateEntries(of: id.rawValue, for: session.slot).lazy.map {
        .delegate($0)
      }
    case .holds:
      listing.entries += bus.value.holdEntries(of: id.rawValue, for: session.slot, at: context.now).lazy.map {
        .hold($0)
      }
    case .users:
      // One that has gone since the list was begun still counts, or its user's counters would fall for this list.
      let gone = peer(of: id) == nil ? sessions.departed.value.connection(id, at: context.now) : nil
      guard let peer = peer(of: id) ?? gone?.peer,
        bus.value.visibleUsers(for: session.slot).contains(peer.uid),
        let traffic = sessions[id]?.countedTraffic() ?? sessions.detached(id)?.countedTraffic()
          ?? gone?.traffic
      else { return }
      listing.users?.add(traffic, of: peer)
    case .queries:
      listing.entries += bus.value.queryEntries(of: id, for: session.slot, at: context.now).lazy.map {
        .query($0)
      }
    default:
      guard bus.value.visibleUsers(for: session.slot).contains(peer(of: id)?.uid), let entry = entry(of: id)
      else { return }
      send([entry], listing.serial, to: session)
    }
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

  /// Whether the connection survives a restart, if any connection does. One without registrations counts as surviving:
  /// nothing is lost with it, and a planned restart keeps it.
  private func survives(_ session: Session) -> Bool {
    let isKept = !session.isKept || keeper.isKept(.connection(session.cookie))
    return isKept && !session.output.flags.contains(.incomplete)
  }

  /// Nil if the connection is gone.
  private func entry(of id: ConnectionID) -> Entry? {
    if let session = sessions[id] {
      var entry = entry(id, at: session.slot, session.peer, since: session.connected)
      entry.queued = UInt64(session.output.queue.byteCount)
      entry.note(session.countedTraffic(), session.inherited)
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
      entry.note(session.countedTraffic(), session.inherited)
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

  /// An entry with the core's counts for a connection; the queue's figures are zero.
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
  fileprivate nonisolated mutating func note(_ traffic: TrafficCounts, _ inherited: TrafficCounts) {
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
  /// Of a delegate, a hold or a query; their numbers follow the time of their making.
  fileprivate nonisolated var number: UInt64 {
    switch self {
    case .delegate(let entry): entry.delegate.id.rawValue
    case .hold(let entry): entry.delegate.id.rawValue
    case .query(let entry): entry.id.rawValue
    default: 0
    }
  }
}

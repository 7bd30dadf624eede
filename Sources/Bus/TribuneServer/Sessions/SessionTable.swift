// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The sessions, by slot and by id. Slots are reused; ids are not.
final class SessionTable {
  private let bySlot = Cell<[Session?]>([])
  private let outputs = Cell<[Cell<Output>.Reference?]>([])
  private var detachedBySlot: [Int: DetachedSession] = [:]
  private var slots: [ConnectionID: Int] = [:]
  private var freeSlots: [Int] = []
  private(set) var count = 0
  private var wantingPosters = SlotSet()
  private(set) var lastID = ConnectionID.bus
  let departed = Cell(DepartedConnections())
  let goneTraffic = Cell(Busiest<TrafficKey, TrafficCounts>())
  let ending = Cell<[(session: Session, error: WireError?)]>([])
  let accounts: Accounts
  let users: UserTable

  init(_ accounts: Accounts) {
    self.accounts = accounts
    users = UserTable(accounts)
  }

  subscript(slot: ConnectionSlot) -> Session? {
    @inline(__always) get { bySlot.value[slot.index] }
  }

  subscript(id: ConnectionID) -> Session? { slots[id].flatMap { bySlot.value[$0] } }

  /// Nil if the token's session has ended, even if its slot is in use again.
  subscript(token: WatchToken) -> Session? {
    guard case .connection(let slot, _) = token, let session = bySlot.value[slot], session.token == token
    else { return nil }
    return session
  }

  /// The output of a session. Deliveries use this method, because it does not retain the session.
  @inline(__always) func output(at slot: ConnectionSlot) -> Cell<Output>.Reference? {
    outputs.value[slot.index]
  }

  /// A copy: sessions can come and go while a caller iterates.
  var all: [Session] { bySlot.value.compactMap { $0 } }

  func session(ifAt index: Int) -> Session? {
    bySlot.value.indices.contains(index) ? bySlot.value[index] : nil
  }

  // MARK: Detached sessions

  func detached(at slot: ConnectionSlot) -> DetachedSession? { detachedBySlot[slot.index] }
  func detached(_ id: ConnectionID) -> DetachedSession? { slots[id].flatMap { detachedBySlot[$0] } }

  func detached(_ token: WatchToken) -> DetachedSession? {
    guard case .connection(let slot, _) = token, let session = detachedBySlot[slot], session.token == token
    else { return nil }
    return session
  }

  var allDetached: [DetachedSession] { detachedBySlot.sorted { $0.key < $1.key }.map(\.value) }

  /// The detached session that had replaced connection `id`.
  func detached(succeeding id: ConnectionID) -> DetachedSession? {
    detachedBySlot.values.first { $0.predecessors.contains(id) }
  }

  // MARK: Users

  func account(of id: ConnectionID) -> UserAccount? {
    self[id]?.account ?? detached(id).map { accounts.account(of: $0.peer.uid) }
  }

  /// Nil if the connection departed too long ago.
  func peer(of id: ConnectionID, at now: Instant) -> PeerIdentity? {
    self[id]?.peer ?? detached(id)?.peer ?? departed.value.connection(id, at: now)?.peer
  }

  // MARK: Posters

  func enablePosters(for session: Session) {
    session.output.wantPosters()
    wantingPosters.insert(session.slot)
  }

  func markKnown(_ poster: Session, at slot: ConnectionSlot) {
    outputs.value[slot.index]?.value.knownPosters.insert(poster.slot)
    poster.isKnownPoster = true
  }

  /// Marks the poster as unknown to all clients, because the next session in its slot is another poster.
  private func forgetPoster(_ session: Session) {
    wantingPosters.remove(session.slot)
    guard session.isKnownPoster else { return }
    wantingPosters.visit { outputs.value[$0.index]?.value.knownPosters.remove(session.slot) }
  }

  // MARK: Connections that have gone

  func rememberDeparture(of session: Session, because reason: ErrorCode?, at now: Instant) {
    remember(
      DepartedConnection(
        id: session.id, peer: session.peer, connected: session.connected, left: now, reason: reason,
        traffic: session.countedTraffic(), inherited: session.inherited))
  }

  func rememberDeparture(of session: DetachedSession, at now: Instant) {
    remember(
      DepartedConnection(
        id: session.id, peer: session.peer, connected: session.connected, left: now, reason: nil,
        traffic: session.countedTraffic(), inherited: session.inherited))
  }

  private func remember(_ connection: DepartedConnection) {
    goneTraffic.value.tally(of: TrafficKey(connection.peer), for: connection.peer.uid)
      .update { $0.add(connection.traffic) }
    departed.value.remember(connection)
  }

  // MARK: The log

  func withPositions<Result>(
    of id: ConnectionID, _ body: (inout LogPositions, ConnectionSlot) -> Result
  ) -> Result? {
    guard let index = slots[id] else { return nil }
    if let session = bySlot.value[index] { return body(&session.positions, session.slot) }
    return detachedBySlot[index].map { body(&$0.positions, $0.slot) }
  }

  // MARK: Coming and going

  var nextSlot: ConnectionSlot { ConnectionSlot(index: freeSlots.last ?? bySlot.value.count) }
  var nextID: ConnectionID { ConnectionID(rawValue: lastID.rawValue + 1) }

  func raiseLastID(to id: ConnectionID) { if id.rawValue > lastID.rawValue { lastID = id } }

  func insert(_ session: Session) {
    take(session.slot, for: session.id)
    accounts.charge(1, of: .connections, to: session.account)
    bySlot.value[session.slot.index] = session
    // `remove` clears both entries, so references never outlive their session.
    outputs.value[session.slot.index] = unsafe session.outputCell.reference
  }

  func insert(_ session: DetachedSession) {
    take(session.slot, for: session.id)
    accounts.charge(1, of: .connections, to: session.peer.uid)
    detachedBySlot[session.slot.index] = session
  }

  private func take(_ slot: ConnectionSlot, for id: ConnectionID) {
    let index = slot.index
    if freeSlots.last == index { freeSlots.removeLast() }
    while bySlot.value.count <= index {
      bySlot.value.append(nil)
      outputs.value.append(nil)
    }
    precondition(bySlot.value[index] == nil && detachedBySlot[index] == nil, "slot \(index) is in use")
    slots[id] = index
    raiseLastID(to: id)
    count += 1
  }

  func remove(_ session: Session) {
    forgetPoster(session)
    accounts.charge(-1, of: .connections, to: session.account)
    free(session.slot, session.id)
  }

  func remove(_ session: DetachedSession) {
    accounts.charge(-1, of: .connections, to: session.peer.uid)
    free(session.slot, session.id)
  }

  private func free(_ slot: ConnectionSlot, _ id: ConnectionID) {
    slots[id] = nil
    bySlot.value[slot.index] = nil
    outputs.value[slot.index] = nil
    detachedBySlot[slot.index] = nil
    freeSlots.append(slot.index)
    count -= 1
  }

  func closeLater(_ session: Session) { ending.value.append((session, nil)) }

  func dismissLater(_ session: Session, _ error: WireError) {
    guard session.isServed else { return }
    session.state = .ending(isGreeted: session.isOpen)
    ending.value.append((session, error))
  }

  /// Must be called after insertions into other slots than `nextSlot`.
  func collectFreeSlots() {
    freeSlots = bySlot.value.indices.reversed().filter {
      bySlot.value[$0] == nil && detachedBySlot[$0] == nil
    }
  }
}

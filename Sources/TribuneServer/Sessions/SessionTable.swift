// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The open connections. A slot is reused; an id never is.
final class SessionTable {
  private let bySlot = Cell<[Connection?]>([])
  /// Hot state by slot; nil where there is no connection.
  private let hotState = Cell<[Cell<Connection.Traffic>.Reference?]>([])
  private var slots: [ConnectionID: Int] = [:]
  private var freeSlots: [Int] = []
  private(set) var count = 0
  /// Connections that are dismissed, or closed, when the iteration ends.
  let ending = Cell<[Connection]>([])
  /// The last id that was given out.
  private(set) var lastID = ConnectionID.bus

  subscript(slot: ConnectionSlot) -> Connection? {
    @inline(__always) get { bySlot.value[slot.index] }
  }

  subscript(id: ConnectionID) -> Connection? { slots[id].flatMap { bySlot.value[$0] } }

  /// The connection that a watch is for, if it is still there.
  subscript(token: WatchToken) -> Connection? {
    guard case .connection(let slot, _) = token, let connection = bySlot.value[slot],
      connection.token == token
    else { return nil }
    return connection
  }

  /// The state that every notification reads, reached without retaining the connection.
  @inline(__always) func hotState(at slot: ConnectionSlot) -> Cell<Connection.Traffic>.Reference? {
    hotState.value[slot.index]
  }

  /// A snapshot by slot: connections may come and go while a caller iterates.
  var all: [Connection] { bySlot.value.compactMap { $0 } }

  /// Nil if the slot is free or was never used.
  func connection(ifAt index: Int) -> Connection? {
    bySlot.value.indices.contains(index) ? bySlot.value[index] : nil
  }

  // MARK: Coming and going

  /// The slot for the next connection.
  var nextSlot: ConnectionSlot { ConnectionSlot(index: freeSlots.last ?? bySlot.value.count) }
  var nextID: ConnectionID { ConnectionID(rawValue: lastID.rawValue + 1) }

  /// Raises `lastID` to `id` if it is lower.
  func noteGiven(_ id: ConnectionID) { if id.rawValue > lastID.rawValue { lastID = id } }

  /// Puts a connection into its slot, which is free.
  func insert(_ connection: Connection) {
    let slot = connection.slot.index
    if freeSlots.last == slot { freeSlots.removeLast() }
    while bySlot.value.count <= slot {
      bySlot.value.append(nil)
      hotState.value.append(nil)
    }
    precondition(bySlot.value[slot] == nil, "slot \(slot) is taken")
    bySlot.value[slot] = connection
    // `remove` clears both, so no reference outlives its connection.
    hotState.value[slot] = unsafe connection.traffic.reference
    slots[connection.id] = slot
    noteGiven(connection.id)
    count += 1
  }

  func remove(_ connection: Connection) {
    let slot = connection.slot.index
    slots[connection.id] = nil
    bySlot.value[slot] = nil
    hotState.value[slot] = nil
    freeSlots.append(slot)
    count -= 1
  }

  /// Has the connection dismissed when the iteration ends: for callers that are walking connections.
  func closeLater(_ connection: Connection, _ error: WireError) {
    guard connection.isServed else { return }
    connection.pendingClose = error
    ending.value.append(connection)
  }

  /// Finds the free slots anew, after connections were put into slots in any order.
  func collectFreeSlots() {
    freeSlots = bySlot.value.indices.reversed().filter { bySlot.value[$0] == nil }
  }
}

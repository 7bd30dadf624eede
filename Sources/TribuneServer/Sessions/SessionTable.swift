// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The connections of the bus: each has a slot, which another one may have later, and an id, which no other one ever has.
final class SessionTable {
  private let bySlot = Cell<[Connection?]>([])
  /// Hot state by slot; nil where there is no connection.
  private let hotState = Cell<[Cell<Connection.Traffic>.Reference?]>([])
  private var slots: [ConnectionID: Int] = [:]
  private var freeSlots: [Int] = []
  private(set) var count = 0
  /// The last id that was given out.
  private(set) var lastID = ConnectionID.bus

  subscript(slot: ConnectionSlot) -> Connection? {
    @inline(__always) get { bySlot.value[slot.index] }
  }

  subscript(id: ConnectionID) -> Connection? { slots[id].flatMap { bySlot.value[$0] } }

  /// What a notification needs of a connection, without touching the connection itself.
  @inline(__always) func hotState(at slot: ConnectionSlot) -> Cell<Connection.Traffic>.Reference? {
    hotState.value[slot.index]
  }

  /// By slot, as they are now: connections may come and go while a caller goes through them.
  var all: [Connection] { bySlot.value.compactMap { $0 } }

  /// The connection at a slot of the log, which may be one that there never was.
  func connection(atLoggedSlot index: Int) -> Connection? {
    bySlot.value.indices.contains(index) ? bySlot.value[index] : nil
  }

  // MARK: Coming and going

  /// The slot for the next connection.
  var nextSlot: ConnectionSlot { ConnectionSlot(index: freeSlots.last ?? bySlot.value.count) }
  var nextID: ConnectionID { ConnectionID(rawValue: lastID.rawValue + 1) }

  /// Ids up to that one have been given out, too.
  func noteGiven(_ id: ConnectionID) { if id.rawValue > lastID.rawValue { lastID = id } }

  /// Puts a connection into its slot, which is free.
  func insert(_ connection: Connection) {
    let slot = connection.slot.index
    if freeSlots.last == slot { freeSlots.removeLast() }
    while bySlot.value.count <= slot {
      bySlot.value.append(nil)
      hotState.value.append(nil)
    }
    bySlot.value[slot] = connection
    // Both are forgotten together.
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

  /// Finds the free slots anew, after connections were put into slots in any order.
  func collectFreeSlots() {
    freeSlots = bySlot.value.indices.reversed().filter { bySlot.value[$0] == nil }
  }
}

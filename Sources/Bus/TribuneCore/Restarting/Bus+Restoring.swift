// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// The last ids that the bus has assigned. After a restart, the next bus continues from them.
package struct BusCounters: Equatable {
  package var lastQuery: UInt64
  package var lastDelegate: UInt64

  /// A bus cannot reach this id. A higher number in a log is corrupt, and would soon overflow.
  package static let most: UInt64 = 1 << 62

  package init(lastQuery: UInt64 = 0, lastDelegate: UInt64 = 0) {
    self.lastQuery = lastQuery
    self.lastDelegate = lastDelegate
  }
}

/// Restores a bus from the log of an earlier one. The server replays the logged frames, and calls `setLast`
/// before each. Separate methods restore the state that does not come from logged frames.
///
/// The earlier daemon has already performed the effects of the frames, so the server must call `dropEffects`.
extension Bus {
  package var counters: BusCounters {
    mutating get {
      BusCounters(lastQuery: ids.queries.last, lastDelegate: ids.delegates.last)
    }
  }

  /// Sets the last ids, from which the next replayed frame continues. Until `finishRestoring`, these last ids
  /// can be lower than ids that the earlier bus assigned. After `finishRestoring`, new ids are unique.
  package mutating func setLast(query: UInt64, delegate: UInt64) {
    ids.queries.setLast(query)
    ids.delegates.setLast(delegate)
  }

  package func isUnderWay(_ id: QueryID) -> Bool { queries.place(of: id) != nil || actions[id] != nil }

  func requireValidID(_ id: UInt64) throws(WireError) {
    guard id > 0, id <= BusCounters.most else {
      throw WireError(.invalidValue, "the id \(id) is out of range")
    }
  }

  package var highest: (query: UInt64, delegate: UInt64) {
    mutating get {
      raiseHighest()
      return (ids.queries.highest, ids.delegates.highest)
    }
  }

  /// Marks all ids up to these as assigned.
  package mutating func raiseHighest(query: UInt64 = 0, delegate: UInt64 = 0) {
    ids.queries.raiseHighest(to: query)
    ids.delegates.raiseHighest(to: delegate)
  }

  package mutating func dropEffects() { effects.drain { _ in } }

  package mutating func dropEffects(where isDropped: (Effect) -> Bool) {
    var all = Batch<Effect>()
    takeEffects(&all)
    all.drain { effect in
      if !isDropped(effect) { emit(effect) }
    }
  }

  /// Settles as `gone` the participants whose delegates were not restored. Emits the questions whose turn has
  /// come.
  /// Concludes awaited posts that no longer wait for an observer.
  ///
  /// Call this once, after these steps: the server has replayed all frames, restored all other state, called
  /// `dropEffects`, and disconnected the connections that it cannot continue. The server must perform the
  /// effects of this call.
  package mutating func finishRestoring(at now: Instant) {
    ids.queries.finishRestoring()
    ids.delegates.finishRestoring()
    settleUnresolved(at: now)
    finishRestoringTurns(at: now)
    concludeAwaited()
  }

  // MARK: Queries and awaited posts under way

  /// The kinds of unfinished work. A compaction of the log writes an entry for each query, action and awaited
  /// post, and for the turns of each connection.
  package enum UnderWay {
    case query
    case action
    case awaitedPost
    case turns
  }

  /// Calls `body` with the owner and the fields of each query (oldest first), of each action and awaited
  /// post, and of each connection's turns. All calls get the same buffer, so `body` must not keep it.
  package mutating func forEachUnderWay<E: Error>(
    _ body: (UnderWay, ConnectionID, ByteBuffer) throws(E) -> Void
  ) throws(E) {
    let buffer = ByteBuffer(capacity: 0)
    for place in queries.allPlaces {
      buffer.truncate(to: 0)
      append(queryAt: place, to: buffer)
      try body(.query, queries[place].asker.id, buffer)
    }
    for action in actions.inOrder {
      buffer.truncate(to: 0)
      append(action, to: buffer)
      try body(.action, action.connection, buffer)
    }
    for number in awaitedPosts.numbers {
      buffer.truncate(to: 0)
      append(awaitedPost: number, to: buffer)
      try body(.awaitedPost, awaitedPosts[number].posterID, buffer)
    }
    for slot in connections.takenSlots {
      guard let inbox = connections[slot].inbox, inbox.turns.value.isWorthKeeping else { continue }
      buffer.truncate(to: 0)
      Self.append(inbox.turns.value, to: buffer)
      try body(.turns, connections[slot].id, buffer)
    }
  }

  package mutating func isConnected(_ slot: ConnectionSlot) -> Bool { connections.has(slot) }

  package mutating func isRegistered(_ serial: Serial, by slot: ConnectionSlot) -> Bool {
    isConnected(slot) && connections[slot].hasRegistered(serial)
  }

  package mutating func hasActionsOrBound(_ slot: ConnectionSlot) -> Bool {
    isConnected(slot) && !(connections[slot].actions.isEmpty && connections[slot].bound.isEmpty)
  }

  package mutating func isSuspended(_ slot: ConnectionSlot) -> Bool {
    isConnected(slot) && connections[slot].buffered != nil
  }

  /// The number of notifications that the connection would miss if its buffer were lost.
  package mutating func bufferedCount(of slot: ConnectionSlot) -> UInt64 {
    guard isConnected(slot) else { return 0 }
    return connections[slot].buffered?.dueCount ?? 0
  }
}

// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What a bus that takes another's place goes on counting from.
package struct BusCounters: Equatable {
  /// The last ids that were given.
  package var lastQuery: UInt64
  package var lastDelegate: UInt64
  /// Queries that came to a verdict, and those of them that were vetoed.
  package var asked: UInt64
  package var vetoed: UInt64

  /// No bus comes to count so far. What says more has been spoilt, and would soon be past what a number can hold.
  package static let most: UInt64 = 1 << 62

  package init(lastQuery: UInt64 = 0, lastDelegate: UInt64 = 0, asked: UInt64 = 0, vetoed: UInt64 = 0) {
    self.lastQuery = lastQuery
    self.lastDelegate = lastDelegate
    self.asked = asked
    self.vetoed = vetoed
  }
}

/// How a bus becomes what another one was: the frames that made the other what it was are received once more, each
/// after `setLast` has said which ids had been given by then, and what no frame can bring back is restored.
///
/// What that makes it want to say has been said; the server throws it away (`dropEffects`).
extension Bus {
  package var counters: BusCounters {
    mutating get {
      BusCounters(lastQuery: lastQuery, lastDelegate: lastDelegate, asked: askedCount, vetoed: vetoedCount)
    }
  }

  package mutating func restore(_ counters: BusCounters) {
    setLast(query: counters.lastQuery, delegate: counters.lastDelegate)
    askedCount = min(counters.asked, BusCounters.most)
    vetoedCount = min(counters.vetoed, BusCounters.most)
  }

  /// Has the ids that the next frame is given follow these. Until `finishRestoring`, they can be lower than those that
  /// others have been given; from then on, none is given twice.
  package mutating func setLast(query: UInt64, delegate: UInt64) {
    raiseHighest()
    lastQuery = min(query, BusCounters.most)
    lastDelegate = min(delegate, BusCounters.most)
    raiseHighest()
  }

  /// Whether a query of that id is under way.
  package func isUnderWay(_ id: QueryID) -> Bool { queries.place(of: id) != nil }

  func requireGivable(_ id: UInt64) throws(WireError) {
    guard id > 0, id <= BusCounters.most else { throw WireError(.invalidValue, "no bus gives the id \(id)") }
  }

  /// Notes the highest ids that were given.
  mutating func raiseHighest(query: UInt64 = 0, delegate: UInt64 = 0) {
    highestQuery = max(highestQuery, lastQuery, query)
    highestDelegate = max(highestDelegate, lastDelegate, delegate)
  }

  /// The highest ids that are known to have been given.
  package var highest: (query: UInt64, delegate: UInt64) {
    mutating get {
      raiseHighest()
      return (highestQuery, highestDelegate)
    }
  }

  /// Has ids up to these count as given, too, from the end of the restoring on.
  package mutating func skip(query: UInt64, delegate: UInt64) {
    raiseHighest(query: min(query, BusCounters.most), delegate: min(delegate, BusCounters.most))
  }

  /// Where a connection is.
  package mutating func slot(of id: ConnectionID) -> ConnectionSlot? { slots[id.rawValue] }

  /// Forgets what there is to send.
  package mutating func dropEffects() { effects.removeAll(keepingCapacity: true) }

  /// Forgets some of it.
  package mutating func dropEffects(where isDropped: (Effect) -> Bool) { effects.removeAll(where: isDropped) }

  /// Ends the restoring: from now on no id is given twice, and nobody waits for who has not come back.
  ///
  /// To be called once, when everything has been received again and restored, what that wanted said has been dropped,
  /// and the connections that have not come back have been disconnected. What it wants said is to be said.
  package mutating func finishRestoring(at now: Instant) {
    raiseHighest()
    (lastQuery, lastDelegate) = (highestQuery, highestDelegate)
    settleStrays(at: now)
    concludeAwaited()
  }

  // MARK: What is worth keeping

  /// What lasts, and what no frame can bring back.
  package enum UnderWay {
    case query
    case awaitedPost
  }

  /// Calls `body` with each query under way, the oldest first, and then each awaited post: whose it is, and its fields, for
  /// `restoreQuery` and `restoreAwaitedPost`. They stand in a buffer that is used again.
  package mutating func forEachUnderWay<E: Error>(
    _ body: (UnderWay, ConnectionID, ByteBuffer) throws(E) -> Void
  ) throws(E) {
    let buffer = ByteBuffer(capacity: 0)
    for place in queries.allPlaces {
      buffer.truncate(to: 0)
      append(queryAt: place, to: buffer)
      try body(.query, queries[place].askerID, buffer)
    }
    for number in awaitedPosts.numbers {
      buffer.truncate(to: 0)
      append(awaitedPost: number, to: buffer)
      try body(.awaitedPost, awaitedPosts[number].posterID, buffer)
    }
  }

  package mutating func isConnected(_ slot: ConnectionSlot) -> Bool {
    slot.index < connections.count && connections[slot.index] != nil
  }

  /// Whether something is registered under that serial: an observation, a monitor, a delegate, a hold or a declaration.
  package mutating func isRegistered(_ serial: Serial, by slot: ConnectionSlot) -> Bool {
    guard isConnected(slot) else { return false }
    return connections[slot.index]?.hasRegistered(serial) == true
  }

  package mutating func isSuspended(_ slot: ConnectionSlot) -> Bool {
    isConnected(slot) && connections[slot.index]?.held != nil
  }

  /// Notifications that are held for a suspended connection, with those that were dropped for want of room and that it
  /// has not been told of: what it would miss if they were gone.
  package mutating func heldCount(of slot: ConnectionSlot) -> UInt64 {
    guard isConnected(slot) else { return 0 }
    return connections[slot.index]?.held?.dueCount ?? 0
  }
}

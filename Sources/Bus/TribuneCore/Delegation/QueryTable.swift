// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The queries under way, by id. Each has a deadline: the time at which it next needs attention.
///
/// A record is reused for a later query, with the capacity of its arrays and its buffer, so that the usual query
/// costs no allocation of its own.
struct QueryTable {
  private struct Record {
    /// The query; if `places` does not lead here, the previous query without its participants.
    var query: Query
    /// Name, object and, for a query that asks one delegate at a time, userInfo.
    var tail = ByteBuffer(capacity: 0)
    var nameLength = 0
    var objectLength = 0
    var deadline: Due.Handle?

    /// Copies `bytes`. Reuses the buffer if it is small and no question still uses it.
    mutating func setTail(_ bytes: RawSpan, nameLength: Int, objectLength: Int) {
      if isKnownUniquelyReferenced(&tail), tail.capacity <= QueryTable.tailKept {
        tail.truncate(to: 0)
      } else {
        tail = ByteBuffer(capacity: bytes.byteCount)
      }
      tail.append(bytes)
      self.nameLength = nameLength
      self.objectLength = objectLength
    }
  }

  /// Largest capacity of a tail, in bytes, that a record keeps once its query is over.
  private static let tailKept = 1024
  /// Participants for which a record keeps capacity.
  private static let participantsKept = 64

  private var records: [Record] = []
  private var free: [Int] = []
  private var places = PlacesByID()

  var count: Int { places.count }

  /// The places of all queries under way, the oldest query first.
  var allPlaces: [Int] { places.inOrder }

  func place(of id: QueryID) -> Int? { places[id] }

  /// Adds a query that has no participants yet. If it is not decided at once, `setDue` must follow.
  mutating func insert(_ query: consuming Query, tail: RawSpan, nameLength: Int, objectLength: Int) -> Int {
    let id = query.id
    let place: Int
    if let reused = free.popLast() {
      place = reused
      query.takeCapacity(from: &records[place].query)
      records[place].query = consume query
    } else {
      place = records.count
      records.append(Record(query: query))
    }
    places[id] = place
    records[place].setTail(tail, nameLength: nameLength, objectLength: objectLength)
    return place
  }

  mutating func remove(at place: Int, _ deadlines: inout Deadlines<Due>) {
    places[records[place].query.id] = nil
    if records[place].tail.capacity > Self.tailKept { records[place].tail = ByteBuffer(capacity: 0) }
    records[place].query.clear(keepingCapacityFor: Self.participantsKept)
    if let deadline = records[place].deadline { deadlines.remove(deadline) }
    records[place].deadline = nil
    free.append(place)
  }

  /// The query at `place`, which must exist.
  ///
  /// A non-mutating method would be called on a copy, which retains and releases all that the query refers to. So the
  /// methods that each answer needs are mutating.
  subscript(place: Int) -> Query {
    _read { yield records[place].query }
    _modify { yield &records[place].query }
  }

  /// Name, object and kept userInfo of the query at `place`.
  func tail(at place: Int) -> QueryTail {
    QueryTail(
      slice: ByteSlice(records[place].tail, 0..<records[place].tail.count),
      nameLength: records[place].nameLength, objectLength: records[place].objectLength)
  }

  /// Sets the time at which the query at `place` next needs attention.
  mutating func setDue(_ due: Instant, at place: Int, _ deadlines: inout Deadlines<Due>) {
    if let deadline = records[place].deadline {
      deadlines.set(deadline, due: due)
    } else {
      let rank = DeadlineRank(.query, records[place].query.id.rawValue)
      records[place].deadline = deadlines.insert(.query(place), due: due, rank: rank)
    }
  }
}

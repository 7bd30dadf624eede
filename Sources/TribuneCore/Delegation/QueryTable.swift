// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The queries under way, by id, with the moment at which each next needs attention.
///
/// A record is used again for a later query, with the room that its arrays and its buffer have grown to,
/// so that the common query costs no allocation of its own.
struct QueryTable {
  private struct Record {
    /// The query, or the last one that was here: then without participants, and not in `places`.
    var query: Query
    /// Name, object and, for a query that goes on in order, userInfo.
    var tail = ByteBuffer(capacity: 0)
    var nameLength = 0
    var objectLength = 0

    /// Copies `bytes`, into the room that is there if no question still lies in it.
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

  /// Bytes of a tail that a record keeps room for once its query is over.
  private static let tailKept = 1024
  /// Participants that a record keeps room for.
  private static let participantsKept = 64

  private var records: [Record] = []
  private var free: [Int] = []
  private var places = PlacesByID()
  private var deadlines = DeadlineHeap()

  var count: Int { places.count }

  var nextDue: Instant? { deadlines.first?.due }

  /// The places of all queries under way, the oldest query first.
  var allPlaces: [Int] { places.inOrder }

  func place(of id: QueryID) -> Int? { places[id] }

  /// Takes a query in that has no participants yet.
  mutating func insert(_ query: consuming Query, tail: RawSpan, nameLength: Int, objectLength: Int) -> Int {
    let id = query.id
    let deadline = query.deadline
    let place: Int
    if let reused = free.popLast() {
      place = reused
      query.takeRoom(from: &records[place].query)
      swap(&records[place].query, &query)
    } else {
      place = records.count
      records.append(Record(query: query))
    }
    places[id] = place
    records[place].setTail(tail, nameLength: nameLength, objectLength: objectLength)
    deadlines.insert(place, due: deadline)
    return place
  }

  /// Takes a query out.
  mutating func remove(at place: Int) {
    places[records[place].query.id] = nil
    if records[place].tail.capacity > Self.tailKept { records[place].tail = ByteBuffer(capacity: 0) }
    records[place].query.forget(keepingRoomFor: Self.participantsKept)
    deadlines.remove(place)
    free.append(place)
  }

  /// The query at `place`, where there must be one.
  ///
  /// A method that is not mutating would be called on a copy, with all that the query holds retained and
  /// released: those that each answer needs are therefore mutating.
  subscript(place: Int) -> Query {
    _read { yield records[place].query }
    _modify { yield &records[place].query }
  }

  /// Name, object and whatever userInfo is kept of the query at `place`.
  func tail(at place: Int) -> QueryTail {
    QueryTail(
      slice: ByteSlice(records[place].tail, 0..<records[place].tail.count),
      nameLength: records[place].nameLength, objectLength: records[place].objectLength)
  }

  /// Sets the moment at which the query at `place` next needs attention.
  mutating func setDue(_ due: Instant, at place: Int) {
    deadlines.set(place, due: due)
  }

  /// The place of a query whose time has come at `now`.
  func firstDue(at now: Instant) -> Int? {
    guard let first = deadlines.first, first.due <= now else { return nil }
    return first.item
  }
}

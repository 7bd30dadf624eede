// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The queries under way. A new query reuses a free record and the memory of its arrays and buffers.
struct QueryTable {
  private struct Record {
    /// In a free record, this is the previous query without its participants.
    var query: Query
    /// The name and the object, and the userInfo if the query keeps it.
    var tail = ByteBuffer(capacity: 0)
    var nameLength = 0
    var objectLength = 0
    var deadline: Due.Handle?

    /// Reuses the buffer if it is small, and no emitted effect, such as a question, still refers to it.
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

  private static let tailKept = 1024
  private static let participantsKept = 64

  private var records: [Record] = []
  private var free: [Int] = []
  private var places = PlacesByID()

  var count: Int { places.count }

  var allPlaces: [Int] { places.inOrder }

  func place(of id: QueryID) -> Int? { places[id] }

  /// Unless the query is decided at once, the caller must then call `setDue`.
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

  /// Some methods of `Query` are `mutating` only because Swift would call a non-mutating one on a copy.
  subscript(place: Int) -> Query {
    _read { yield records[place].query }
    _modify { yield &records[place].query }
  }

  func tail(at place: Int) -> QueryTail {
    QueryTail(
      slice: ByteSlice(records[place].tail, 0..<records[place].tail.count),
      nameLength: records[place].nameLength, objectLength: records[place].objectLength)
  }

  mutating func setDue(_ due: Instant, at place: Int, _ deadlines: inout Deadlines<Due>) {
    if let deadline = records[place].deadline {
      deadlines.set(deadline, due: due)
    } else {
      let rank = DeadlineRank(.query, records[place].query.id.rawValue)
      records[place].deadline = deadlines.insert(.query(place), due: due, rank: rank)
    }
  }
}

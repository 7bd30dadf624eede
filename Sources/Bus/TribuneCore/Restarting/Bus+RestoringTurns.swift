// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Bus {
  // MARK: Writing

  static func append(_ turns: borrowing QuestionTurns, to buffer: ByteBuffer) {
    let (unread, waiting) = (turns.unreadByUser, turns.waitingByTurn)
    buffer.append(UInt32(unread.count))
    for (uid, count, reported) in unread {
      buffer.append(uid)
      buffer.append(UInt32(count))
      buffer.append(UInt32(reported))
    }
    buffer.append(UInt32(waiting.count))
    for (uid, questions) in waiting {
      buffer.append(uid)
      buffer.append(UInt32(questions.count))
      for question in questions {
        buffer.append(question.query.rawValue)
        buffer.append(question.delegate.rawValue)
      }
    }
  }

  // MARK: Reading

  /// The queries and the connection's delegates must already be restored. If this method throws, no turn
  /// changes.
  package mutating func restoreTurns(_ fields: RawSpan, of id: ConnectionID) throws(WireError) {
    guard let slot = connections[id] else {
      throw WireError(.notFound, "connection \(id) does not exist")
    }
    // A connection can still have unread questions after all its delegates have left. If the replay has made
    // no inbox for such a connection, `inbox(of:)` makes one.
    let inbox = inbox(of: slot)
    var reader = FieldReader(fields)
    var unread: [(uid: UInt32, count: Int, reported: Int)] = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      let uid: UInt32 = try reader.integer()
      let count = Int(try reader.integer(UInt32.self))
      let reported = Int(try reader.integer(UInt32.self))
      guard count <= limits.questionsAtATime, reported <= count else {
        throw WireError(
          .invalidValue,
          "connection \(id) cannot have \(count) unread questions, and \(reported) reported ones")
      }
      unread.append((uid, count, reported))
    }
    var waiting: [(place: Int, index: Int)] = []
    var found: Set<[UInt64]> = []
    for _ in 0..<(try reader.integer(UInt32.self)) {
      let uid: UInt32 = try reader.integer()
      for _ in 0..<(try reader.integer(UInt32.self)) {
        let query = QueryID(rawValue: try reader.integer())
        let delegate = DelegateID(rawValue: try reader.integer())
        guard let place = queries.place(of: query), queries[place].asker.peer.uid == uid,
          let index = queries[place].waitingIndex(of: delegate),
          queries[place].participants[index].isUnplaced,
          queries[place].participants[index].delegate.inbox === inbox,
          found.insert([query.rawValue, delegate.rawValue]).inserted
        else {
          throw WireError(
            .invalidValue, "no question of query \(query.rawValue) waits for delegate \(delegate.rawValue)")
        }
        waiting.append((place, index))
      }
    }
    for (uid, count, reported) in unread {
      inbox.turns.value.restoreUnread(
        count, reported: reported, of: uid, isPrivileged: accounts.account(of: uid).isPrivileged)
    }
    for (place, index) in waiting { waitForTurn(place, index) }
  }

  private mutating func waitForTurn(_ place: Int, _ index: Int) {
    let asker = queries[place].asker.slot
    queries[place].waitForTurn(index, isPrivileged: connections[asker].account.isPrivileged)
  }

  mutating func finishRestoringTurns(at now: Instant) {
    for place in queries.allPlaces {
      for index in queries[place].participants.indices
      where queries[place].participants[index].isUnplaced
        && queries[place].participants[index].delegate.isAttached
      { waitForTurn(place, index) }
    }
    for slot in connections.takenSlots {
      guard let inbox = connections[slot].inbox else { continue }
      emitWaitingQuestions(of: inbox, at: now)
      _ = inbox.turns.value.takeReport()
    }
    // The replay left duplicates in `unreadInboxes`, and also connections whose `isReported` is false. So
    // rebuild the list.
    unreadInboxes = connections.takenSlots.filter { connections[$0].inbox?.turns.value.isReported == true }
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Bus {
  mutating func mustWait(for delegates: [DelegateRegistration], asking slot: ConnectionSlot) -> Bool {
    let (account, max) = (connections[slot].account, limits.questionsAtATime)
    func haveTurns(_ count: (DelegateRegistration) -> Int) -> Bool {
      delegates.allSatisfy { delegate in
        delegate.inbox.turns.value.hasTurns(
          count(delegate), for: account.uid, isPrivileged: account.isPrivileged, of: max)
      }
    }
    if haveTurns({ _ in delegates.count }) { return false }
    // The count above assumes that all delegates have one connection. Count again for each connection.
    var counts: [ConnectionSlot: Int] = [:]
    for delegate in delegates { counts[delegate.slot, default: 0] += 1 }
    return !haveTurns { counts[$0.slot] ?? 0 }
  }

  @inline(__always) mutating func emitWaitingQuestions(of inbox: QuestionInbox, at now: Instant) {
    if inbox.turns.value.isAnyWaiting { emitNextQuestions(of: inbox, at: now) }
  }

  private mutating func emitNextQuestions(of inbox: QuestionInbox, at now: Instant) {
    while let next = inbox.turns.value.startNext(of: limits.questionsAtATime) {
      guard let place = queries.place(of: next.query),
        let index = queries[place].waitingIndex(of: next.delegate)
      else { preconditionFailure("query \(next.query.rawValue) waits for its turn, and has ended") }
      emitQuestion(place, index, queries.tail(at: place), at: now)
    }
  }

  /// Ends a delegate's turn (`QuestionTurns`) in `parent` when the delegate asks a nested query. If the turn
  /// did not end, the nested questions could wait for it forever. Returns the inboxes that now have a free
  /// turn.
  mutating func endTurns(in parent: QueryID, at slot: ConnectionSlot) -> [QuestionInbox] {
    guard let place = queries.place(of: parent) else { return [] }
    let user = connections[slot].peer.uid
    // If a delegate starts a process that asks, this process has its own connection, and does not name the
    // delegate. In this case, end the turns in `parent` of all delegates of the process's user.
    let isDelegate = queries[place].hasAsked(delegateAt: slot)
    var freed: [QuestionInbox] = []
    for index in queries[place].participants.indices
    where queries[place].participants[index].hasTurn
      && (isDelegate
        ? queries[place].participants[index].delegate.slot == slot
        : queries[place].participants[index].delegate.identity.peer.uid == user)
    {
      queries[place].endTurn(index)
      freed.append(queries[place].participants[index].delegate.inbox)
    }
    return freed
  }

  /// If questions wait, and unread questions still have turns, makes the server check whether the client has
  /// read the unread ones. The server learns of the connection by `popUnreadInbox`.
  mutating func reportUnread(_ inbox: QuestionInbox) {
    if inbox.turns.value.takeReport() { unreadInboxes.append(inbox.slot) }
  }

  /// Returns a connection whose unread questions keep turns that other questions need. Once the client has
  /// read the frames now in its queue, call `markRead`, unless `isWaitingToBeRead` is false by then.
  @inline(__always) package mutating func popUnreadInbox() -> ConnectionSlot? {
    unreadInboxes.isEmpty ? nil : takeUnreadInbox()
  }

  private mutating func takeUnreadInbox() -> ConnectionSlot? {
    while let slot = unreadInboxes.popLast() {
      if isWaitingToBeRead(slot) { return slot }
    }
    return nil
  }

  package mutating func isWaitingToBeRead(_ slot: ConnectionSlot) -> Bool {
    isConnected(slot) && connections[slot].inbox?.turns.value.isReported == true
  }

  /// Call this when the client has read all frames that were queued when `popUnreadInbox` returned.
  package mutating func markRead(by slot: ConnectionSlot, at now: Instant) {
    guard let inbox = connections[slot].inbox else { return }
    inbox.turns.value.markRead()
    emitWaitingQuestions(of: inbox, at: now)
    reportUnread(inbox)
  }
}

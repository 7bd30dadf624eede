// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Decides which questions the bus sends to the delegates of one connection, and which questions wait.
///
/// The number of questions at a time is limited, and the users who ask take turns. A sixteenth of the limit
/// is reserved for privileged users, and a sixteenth for all others. Privileged users can use all that is not
/// reserved for others. Others share what is not reserved for privileged users, by the rule of `Accounts`. If
/// a user's share is less than one question, the user can still have one.
///
/// A question *has its turn* from when the bus sends it until the delegate answers, defers, or asks a nested
/// query. If the bus stops waiting before that, the question is *unread*, and keeps its turn. If other
/// questions wait, the server checks what the client reads (`takeReport`). The turn ends when the client has
/// read all frames that were queued when such a check began.
struct QuestionTurns {
  struct Waiting {
    let number: UInt64
    let query: QueryID
    let delegate: DelegateID
    var isOpen = true
  }

  private struct User {
    let uid: UInt32
    let isPrivileged: Bool
    /// The number of questions that have their turn, including unread questions.
    var sent = 0
    var unread = 0
    /// The number of questions that were unread when the server began its last check (`takeReport`).
    var reported = 0
    var waiting: [Waiting] = []
    /// Entries of `waiting` before this index no longer wait (`isOpen` is false).
    var head = 0
    var openCount = 0
  }

  /// Up to this size of `users`, users without questions stay, because they will probably ask again.
  private static let idleMax = 4
  private static let searchedMax = 16

  /// The users who ask. Nearly always, there are one or two.
  private var users: [User] = []
  private var places: [UInt32: Int] = [:]
  /// Users with waiting questions, in the order of their turns.
  private var turns: [(uid: UInt32, isPrivileged: Bool)] = []
  private(set) var sentCount = 0
  private var privilegedCount = 0
  private(set) var unreadCount = 0
  private var sendingCount = 0
  private var lastNumber: UInt64 = 0
  /// True while the server checks whether the client has read its frames. Only one such check runs at a time.
  private(set) var isReported = false

  var isAnyWaiting: Bool { !turns.isEmpty }
  /// False if the log need not contain this state, because the queries under way determine it.
  var isWorthKeeping: Bool { isAnyWaiting || unreadCount > 0 }

  // MARK: Questions

  func hasTurns(_ count: Int, for uid: UInt32, isPrivileged: Bool, of max: Int) -> Bool {
    guard let place = place(of: uid) else {
      return mayHave(count, beside: 0, isPrivileged: isPrivileged, of: max)
    }
    return users[place].openCount == 0 && mayHave(count, at: place, of: max)
  }

  private func mayHave(_ count: Int, at place: Int, of max: Int) -> Bool {
    mayHave(count, beside: users[place].sent, isPrivileged: users[place].isPrivileged, of: max)
  }

  /// - Parameter own: the number of the user's questions that have their turn.
  private func mayHave(_ count: Int, beside own: Int, isPrivileged: Bool, of max: Int) -> Bool {
    if sentCount == 0, count == 1 { return true }
    guard sentCount + count <= max else { return false }
    let unreserved = Self.unreserved(of: max)
    if isPrivileged { return privilegedCount + count <= unreserved }
    let share = (unreserved - (sentCount - own)) / (sendingCount + (own == 0 ? 1 : 0) + 1)
    return sentCount - privilegedCount + count <= unreserved && own + count <= Swift.max(1, share)
  }

  /// The highest number of questions that privileged users together, or all others together, can have.
  private static func unreserved(of max: Int) -> Int { max - Swift.max(1, max / 16) }

  /// Returns false if the question must wait for its turn. The caller must then call `wait`.
  mutating func start(for uid: UInt32, isPrivileged: Bool, of max: Int) -> Bool {
    let user = place(of: uid, isPrivileged)
    guard users[user].openCount == 0, mayHave(1, at: user, of: max) else { return false }
    start(at: user)
    return true
  }

  private mutating func start(at place: Int) {
    if users[place].sent == 0 { sendingCount += 1 }
    users[place].sent += 1
    sentCount += 1
    if users[place].isPrivileged { privilegedCount += 1 }
  }

  mutating func wait(
    _ query: QueryID, _ delegate: DelegateID, for uid: UInt32, isPrivileged: Bool
  ) -> UInt64 {
    lastNumber += 1
    let place = place(of: uid, isPrivileged)
    if users[place].openCount == 0 { turns.append((uid, users[place].isPrivileged)) }
    users[place].openCount += 1
    users[place].waiting.append(Waiting(number: lastNumber, query: query, delegate: delegate))
    return lastNumber
  }

  mutating func leave(_ number: UInt64, of uid: UInt32) {
    let user = knownPlace(of: uid)
    guard let place = users[user].waiting.place(of: number) else {
      preconditionFailure("no question of user \(uid) waits as number \(number)")
    }
    users[user].waiting[place].isOpen = false
    users[user].openCount -= 1
    if users[user].openCount == 0 {
      turns.removeAll { $0.uid == uid }
      withdrawReport()
    }
    tidy(user)
  }

  /// Call this when the delegate has answered, deferred or asked a nested query, or did not get the question.
  mutating func end(of uid: UInt32) { release(1, at: knownPlace(of: uid)) }

  /// Call this when the bus stops waiting for the delegate without an answer. The question becomes unread.
  mutating func abandon(of uid: UInt32) {
    users[knownPlace(of: uid)].unread += 1
    unreadCount += 1
  }

  /// Call this when the client has read the frames that were queued when `takeReport` returned true.
  mutating func markRead() {
    isReported = false
    for user in users.indices.reversed() where users[user].reported > 0 {
      let count = users[user].reported
      users[user].reported = 0
      users[user].unread -= count
      unreadCount -= count
      release(count, at: user)
    }
  }

  /// Returns true if the server must begin to check whether the client has read the frames now in its queue.
  /// Once the client has read them, the server must call `markRead`, unless `isReported` is false by then.
  mutating func takeReport() -> Bool {
    guard !isReported, unreadCount > 0, isAnyWaiting else { return false }
    isReported = true
    for user in users.indices { users[user].reported = users[user].unread }
    return true
  }

  private mutating func withdrawReport() {
    guard isReported, turns.isEmpty else { return }
    isReported = false
    for user in users.indices { users[user].reported = 0 }
  }

  mutating func startNext(of max: Int) -> Waiting? {
    guard sentCount < max else { return nil }
    // If unprivileged users together are at their limit, skip them without a lookup: there can be thousands.
    let isFullForOthers = sentCount > 0 && sentCount - privilegedCount >= Self.unreserved(of: max)
    for (place, turn) in turns.enumerated() where turn.isPrivileged || !isFullForOthers {
      let user = knownPlace(of: turn.uid)
      guard mayHave(1, at: user, of: max) else { continue }
      let next = takeFirst(of: user)
      turns.remove(at: place)
      if users[user].openCount > 0 { turns.append(turn) }
      withdrawReport()
      start(at: user)
      tidy(user)
      return next
    }
    return nil
  }

  private mutating func takeFirst(of user: Int) -> Waiting {
    var place = users[user].head
    while !users[user].waiting[place].isOpen { place += 1 }
    users[user].waiting[place].isOpen = false
    users[user].head = place + 1
    users[user].openCount -= 1
    return users[user].waiting[place]
  }

  // MARK: Users

  private mutating func place(of uid: UInt32, _ isPrivileged: Bool) -> Int {
    if let place = place(of: uid) { return place }
    users.append(User(uid: uid, isPrivileged: isPrivileged))
    if !places.isEmpty {
      places[uid] = users.count - 1
    } else if users.count > Self.searchedMax {
      for (place, user) in users.enumerated() { places[user.uid] = place }
    }
    return users.count - 1
  }

  private func place(of uid: UInt32) -> Int? {
    places.isEmpty ? users.firstIndex { $0.uid == uid } : places[uid]
  }

  private func knownPlace(of uid: UInt32) -> Int {
    guard let place = place(of: uid) else { preconditionFailure("user \(uid) has no question") }
    return place
  }

  private mutating func remove(_ user: Int) {
    users.swapAt(user, users.count - 1)
    let uid = users.removeLast().uid
    guard !places.isEmpty else { return }
    places[uid] = nil
    if user < users.count { places[users[user].uid] = user }
    if users.count <= Self.searchedMax / 2 { places = [:] }
  }

  private mutating func release(_ count: Int, at user: Int) {
    precondition(users[user].sent - users[user].unread >= count, "more questions end than were sent")
    users[user].sent -= count
    sentCount -= count
    if users[user].isPrivileged { privilegedCount -= count }
    if users[user].sent == 0 { sendingCount -= 1 }
    tidy(user)
  }

  private mutating func tidy(_ user: Int) {
    if users[user].openCount == 0 {
      if users[user].sent == 0, users.count > Self.idleMax {
        remove(user)
      } else if !users[user].waiting.isEmpty {
        users[user].waiting = []
        users[user].head = 0
      }
    } else if users[user].waiting.count > 2 * users[user].openCount + 32 {
      users[user].waiting.removeAll { !$0.isOpen }
      users[user].head = 0
    }
  }
}

extension [QuestionTurns.Waiting] {
  fileprivate func place(of number: UInt64) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].number == number ? low : nil
  }
}

// MARK: Restoring

extension QuestionTurns {
  /// The number of unread questions of each user, and how many of these the next `markRead` releases.
  var unreadByUser: [(uid: UInt32, count: Int, reported: Int)] {
    users.filter { $0.unread > 0 }.map { ($0.uid, $0.unread, $0.reported) }
  }

  var waitingByTurn: [(uid: UInt32, questions: [Waiting])] {
    turns.map { ($0.uid, users[knownPlace(of: $0.uid)].waiting.filter(\.isOpen)) }
  }

  mutating func restoreSent(of uid: UInt32, isPrivileged: Bool) { start(at: place(of: uid, isPrivileged)) }

  /// - Parameter reported: the number of these questions that the next `markRead` releases.
  mutating func restoreUnread(_ count: Int, reported: Int, of uid: UInt32, isPrivileged: Bool) {
    guard count > 0 else { return }
    let user = place(of: uid, isPrivileged)
    for _ in 0..<count { start(at: user) }
    users[user].unread += count
    users[user].reported += reported
    unreadCount += count
    if reported > 0 { isReported = true }
  }
}

/// The turns of one connection. All delegates of the connection share this object.
final class QuestionInbox {
  let slot: ConnectionSlot
  let turns = Cell(QuestionTurns())

  init(of slot: ConnectionSlot) { self.slot = slot }
}

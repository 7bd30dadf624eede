// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Decides which questions the delegates of one connection have now, and which wait on the bus.
///
/// Many delegates answer one question after the other. So they have a few at a time, and the users who ask take turns: a
/// question waits behind a few of other users, however many those ask.
///
/// A sixteenth of the questions is for privileged users alone, and a sixteenth for all others. A privileged user may have
/// all that are left, and others share as in `Accounts`: one user alone has half of them, the next one a sixth. Yet
/// every user may have one when its turn comes.
///
/// A question *has its turn* from when it is sent until it is answered or deferred, or the delegate asks a query of its own
/// for it. If the bus stops waiting for the answer before that, the client may still have the question to read. It is then
/// *unread*, and has its turn until the client has read what it was sent until then.
struct QuestionTurns {
  /// A question that waits.
  struct Waiting {
    let number: UInt64
    let query: QueryID
    let delegate: DelegateID
    /// Whether it still has to be sent.
    var isOpen = true
  }

  private struct User {
    let uid: UInt32
    let isPrivileged: Bool
    /// Questions that have their turns, unread ones included.
    var sent = 0
    var unread = 0
    /// The unread ones when the server last began to look whether the client has read them.
    var reported = 0
    /// By number. Those that are not open are removed when they are many.
    var waiting: [Waiting] = []
    /// None before this place is open.
    var head = 0
    var openCount = 0
  }

  /// Users who stay here when they have no questions, since they are likely to ask again.
  private static let idleMax = 4
  /// With more users than this, they are found in a table.
  private static let searchedMax = 16

  /// Users who have questions here, or whose questions wait, and a few others; nearly always one or two.
  private var users: [User] = []
  /// Where each user is in `users`, if there are many.
  private var places: [UInt32: Int] = [:]
  /// Users whose questions wait, in the order of their turns.
  private var turns: [(uid: UInt32, isPrivileged: Bool)] = []
  private(set) var sentCount = 0
  private var privilegedCount = 0
  private(set) var unreadCount = 0
  /// How many users have questions.
  private var sendingCount = 0
  private var lastNumber: UInt64 = 0
  /// Whether the server looks from time to time whether the client has read, because questions wait for that.
  private(set) var isReported = false

  var isAnyWaiting: Bool { !turns.isEmpty }
  /// Whether there is anything that the queries under way do not say.
  var isWorthKeeping: Bool { isAnyWaiting || unreadCount > 0 }

  // MARK: Questions

  /// Whether `count` more questions of a user would all be sent at once.
  func hasTurns(_ count: Int, for uid: UInt32, isPrivileged: Bool, of max: Int) -> Bool {
    guard let place = place(of: uid) else {
      return mayHave(count, beside: 0, isPrivileged: isPrivileged, of: max)
    }
    return users[place].openCount == 0 && mayHave(count, at: place, of: max)
  }

  private func mayHave(_ count: Int, at place: Int, of max: Int) -> Bool {
    mayHave(count, beside: users[place].sent, isPrivileged: users[place].isPrivileged, of: max)
  }

  /// Whether a user may have `count` questions beside those that it has.
  private func mayHave(_ count: Int, beside own: Int, isPrivileged: Bool, of max: Int) -> Bool {
    if sentCount == 0, count == 1 { return true }
    guard sentCount + count <= max else { return false }
    let unreserved = Self.unreserved(of: max)
    if isPrivileged { return privilegedCount + count <= unreserved }
    let share = (unreserved - (sentCount - own)) / (sendingCount + (own == 0 ? 1 : 0) + 1)
    return sentCount - privilegedCount + count <= unreserved && own + count <= Swift.max(1, share)
  }

  /// What privileged users may have together, and so may all others.
  private static func unreserved(of max: Int) -> Int { max - Swift.max(1, max / 16) }

  /// - Returns: whether a user's question can be sent now; if so, it has its turn. If not, `wait` must follow.
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

  /// Lets a question wait, behind those of its user.
  ///
  /// - Returns: its number, for `leave`.
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

  /// A waiting question need not be sent any more.
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

  /// The turn of a question ends: it is answered or deferred, or has not been sent after all.
  mutating func end(of uid: UInt32) { release(1, at: knownPlace(of: uid)) }

  /// The bus does not wait any more for the answer to a question, which is unread from now on.
  mutating func abandon(of uid: UInt32) {
    users[knownPlace(of: uid)].unread += 1
    unreadCount += 1
  }

  /// The client has read what it had been sent when `takeReport` returned true.
  mutating func noteRead() {
    isReported = false
    for user in users.indices.reversed() where users[user].reported > 0 {
      let count = users[user].reported
      users[user].reported = 0
      users[user].unread -= count
      unreadCount -= count
      release(count, at: user)
    }
  }

  /// Whether the server has to begin to look whether the client has read, because questions wait for that. If so,
  /// `noteRead` must follow when the client has, unless `isReported` is false by then.
  mutating func takeReport() -> Bool {
    guard !isReported, unreadCount > 0, isAnyWaiting else { return false }
    isReported = true
    for user in users.indices { users[user].reported = users[user].unread }
    return true
  }

  /// The server need not look any more whether the client has read, if no question waits for that.
  private mutating func withdrawReport() {
    guard isReported, turns.isEmpty else { return }
    isReported = false
    for user in users.indices { users[user].reported = 0 }
  }

  /// Starts the first question of the first user in turn who may have one more.
  mutating func startNext(of max: Int) -> Waiting? {
    guard sentCount < max else { return nil }
    // There can be thousands of users, so that those who may have none are not looked up.
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

  /// Removes a user without questions, and numbers that nothing needs.
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
  /// How many unread questions there are of each user, and how many of them `noteRead` is to release.
  var unreadByUser: [(uid: UInt32, count: Int, reported: Int)] {
    users.filter { $0.unread > 0 }.map { ($0.uid, $0.unread, $0.reported) }
  }

  /// The questions that wait, by user in the order of their turns.
  var waitingByTurn: [(uid: UInt32, questions: [Waiting])] {
    turns.map { ($0.uid, users[knownPlace(of: $0.uid)].waiting.filter(\.isOpen)) }
  }

  /// Restores the turn of a question that an earlier bus has sent.
  mutating func restoreSent(of uid: UInt32, isPrivileged: Bool) { start(at: place(of: uid, isPrivileged)) }

  /// Restores the turns of questions that were unread in an earlier bus.
  ///
  /// - Parameter reported: how many of them `noteRead` is to release.
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

/// The turns of a connection, which all its delegates share.
final class QuestionInbox {
  let slot: ConnectionSlot
  let turns = Cell(QuestionTurns())

  init(of slot: ConnectionSlot) { self.slot = slot }
}

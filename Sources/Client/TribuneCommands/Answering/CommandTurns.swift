// SPDX-License-Identifier: Apache-2.0

/// Decides which questions run a command now, and which wait.
///
/// At most `total` commands run. For a privileged user's running commands, there is no other limit. Every
/// other user may run at most max(1, free / (users + 1)) commands. `free` is `total` minus other users'
/// running commands, and `users` counts the users with running commands, including this user. Users with
/// waiting questions take turns.
struct CommandTurns: Sendable {
  typealias Ticket = Int

  enum Decision: Equatable, Sendable {
    case start
    /// The question waits until `end` returns its ticket (its number), or until `leave` removes the question.
    case wait
    case refuse(waiting: Int)
    case refuseLong
  }

  private struct Waiting {
    var ticket: Ticket
    var byteCount: Int
  }

  private struct User {
    let isPrivileged: Bool
    var running = 0
    var waiting: [Waiting] = []
    var byteCount = 0
  }

  let total: Int
  let waitingMax: Int
  /// The most bytes of userInfo that one user's running and waiting questions may have together. A
  /// user's only question may have more.
  let byteCountMax: Int
  private let isPrivileged: @Sendable (UInt32) -> Bool
  private var users: [UInt32: User] = [:]
  private var turns: [UInt32] = []
  private var running = 0
  private var runningUsers = 0

  init(
    total: Int, waitingMax: Int, byteCountMax: Int, isPrivileged: @escaping @Sendable (UInt32) -> Bool
  ) {
    (self.total, self.waitingMax) = (total, waitingMax)
    (self.byteCountMax, self.isPrivileged) = (byteCountMax, isPrivileged)
  }

  /// - Parameter isOwed: true for a command that is never refused, although it may have to wait.
  mutating func ask(_ ticket: Ticket, of uid: UInt32, byteCount: Int, isOwed: Bool = false) -> Decision {
    var user = users[uid] ?? User(isPrivileged: isPrivileged(uid))
    let starts = user.waiting.isEmpty && mayStart(user)
    guard starts || isOwed || user.waiting.count < waitingMax else {
      return .refuse(waiting: user.waiting.count)
    }
    guard isOwed || user.byteCount == 0 || user.byteCount + byteCount <= byteCountMax else {
      return .refuseLong
    }
    user.byteCount += byteCount
    if starts {
      start(uid, &user)
      return .start
    }
    if user.waiting.isEmpty { turns.append(uid) }
    user.waiting.append(Waiting(ticket: ticket, byteCount: byteCount))
    users[uid] = user
    return .wait
  }

  mutating func end(of uid: UInt32, byteCount: Int) -> [Ticket] {
    guard var user = users[uid], user.running > 0 else {
      preconditionFailure("a command ends of user \(uid), who has none")
    }
    user.running -= 1
    user.byteCount -= byteCount
    running -= 1
    if user.running == 0 { runningUsers -= 1 }
    store(user, uid)
    var started: [Ticket] = []
    while let ticket = startNext() { started.append(ticket) }
    return started
  }

  /// Removes a waiting question. Does nothing if the question has started.
  mutating func leave(_ ticket: Ticket, of uid: UInt32) {
    guard var user = users[uid], let place = user.waiting.firstIndex(where: { $0.ticket == ticket }) else {
      return
    }
    user.byteCount -= user.waiting.remove(at: place).byteCount
    if user.waiting.isEmpty { turns.removeAll { $0 == uid } }
    store(user, uid)
  }

  private mutating func startNext() -> Ticket? {
    guard let place = turns.firstIndex(where: { users[$0].map { mayStart($0) } ?? false }) else { return nil }
    let uid = turns.remove(at: place)
    guard var user = users[uid] else { preconditionFailure("a user who is in turn has no question") }
    let first = user.waiting.removeFirst()
    if !user.waiting.isEmpty { turns.append(uid) }
    start(uid, &user)
    return first.ticket
  }

  private func mayStart(_ user: User) -> Bool {
    guard running < total else { return false }
    if user.isPrivileged { return true }
    let left = total - (running - user.running)
    let count = runningUsers + (user.running == 0 ? 1 : 0)
    return user.running < max(1, left / (count + 1))
  }

  private mutating func start(_ uid: UInt32, _ user: inout User) {
    if user.running == 0 { runningUsers += 1 }
    user.running += 1
    running += 1
    users[uid] = user
  }

  private mutating func store(_ user: User, _ uid: UInt32) {
    users[uid] = user.running == 0 && user.waiting.isEmpty ? nil : user
  }
}

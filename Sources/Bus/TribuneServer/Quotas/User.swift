// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The server's state of one user. The core's state of the user is in `account`.
final class User {
  let account: UserAccount

  /// The bus drops notifications of the user's slow observers if the unread bytes exceed the share and this
  /// limit. Each drop sets the limit above the remaining bytes, so the next drop comes later.
  var relievedAbove = 0

  let pauses = Cell(PauseBudget())

  /// The last loop iteration in which the bus handled frames of the user, and the time spent on these frames.
  let iterationTime = Cell((number: UInt64(0), nanoseconds: UInt64(0)))

  /// The last loop iteration in which the user got a turn after the time of the iteration was over. `next` is
  /// the first iteration that can have another such turn.
  let lateTurn = Cell((last: UInt64(0), next: UInt64(0)))

  /// The number of a compaction, and the bytes that the bus has logged for the user since this compaction.
  let logged = Cell((compaction: UInt64(0), byteCount: 0))
  let waitsForCompaction = Cell(false)

  init(_ account: UserAccount) { self.account = account }

  var uid: UInt32 { account.uid }
  var isPrivileged: Bool { account.isPrivileged }
}

/// The users with connections, by id.
final class UserTable {
  private let accounts: Accounts
  private var users: [UInt32: User] = [:]
  private var tidyCount = 64

  init(_ accounts: Accounts) { self.accounts = accounts }

  subscript(uid: UInt32) -> User {
    let account = accounts.account(of: uid)
    // The core replaces the empty account of a user that returns.
    if let user = users[uid], user.account === account { return user }
    if users.count >= tidyCount {
      users = users.filter { !$0.value.account.isEmpty }
      tidyCount = max(64, 2 * users.count)
    }
    let user = User(account)
    users[uid] = user
    return user
  }
}

/// The time for which a user's observers may pause other users' posters: at most a tenth of the time, and at
/// most one second at once.
struct PauseBudget {
  private static let most: Int64 = 1_000_000_000
  /// In nanoseconds. Negative after a pause that was longer than the rest of the budget.
  private var left = most
  private var known: Instant?

  mutating func hasTime(at now: Instant) -> Bool {
    if let known { left = min(Self.most, left + Int64(clamping: now.nanoseconds(since: known) / 10)) }
    known = now
    return left > 0
  }

  mutating func take(nanoseconds: UInt64) { left -= Int64(clamping: nanoseconds) }
}

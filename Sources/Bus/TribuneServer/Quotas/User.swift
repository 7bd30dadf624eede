// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The server's state of one user. The core's state of the user is in `account`.
final class User {
  let account: UserAccount

  /// The bus drops notifications of the user's slow observers if the user's unread bytes exceed both the
  /// user's share and this limit. Each drop sets the limit above the remaining bytes, so that the bus does
  /// not examine all observers again for each further frame.
  var relievedAbove = 0

  let pauses = Cell(PauseBudget())

  /// The last loop iteration in which the bus handled frames of the user, and the time spent on these frames.
  let iterationTime = Cell((number: UInt64(0), nanoseconds: UInt64(0)))

  /// The last loop iteration in which the user got a turn after the iteration's time was over (`TimeShares`).
  /// `next` is the first iteration in which the user can get another such turn.
  let lateTurn = Cell((last: UInt64(0), next: UInt64(0)))

  /// The number of a compaction of the log, and the bytes logged for the user since that compaction
  /// (`LogTurnover`).
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
    // If the core has forgotten an empty account, and the user returns, the user has a new account.
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

/// The time for which a user's observers may still pause other users' posters. The budget grows by a tenth of
/// the elapsed time, to one second at most.
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

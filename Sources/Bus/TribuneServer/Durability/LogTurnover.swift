// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Shares among users what is logged from one compaction to the next.
///
/// What frames leave in the log for good counts in the shares of its users. But frames that leave nothing there, such as
/// those that defer an answer, take space until a compaction ends, and there can be millions of them in a second. So half of
/// the space is shared like all that users share. The frames of a user who has used up that wait for the compaction.
final class LogTurnover {
  /// What a frame is logged with, and what it causes.
  private static let overhead = 256

  /// How many compactions have ended.
  private var compaction: UInt64 = 1
  private var space = Int.max / 4
  private var loggedByteCount = 0
  private var userCount = 0
  private var waiting: [UserAccount] = []

  /// Whether any frames wait for a compaction. Reading this costs no check of exclusive access.
  private(set) var isAwaited = false

  /// A compaction has ended. Until the next one ends, `space` bytes can be logged.
  func begin(space: Int) {
    compaction += 1
    (self.space, loggedByteCount, userCount) = (space, 0, 0)
    while let account = waiting.popLast() { account.waitsForCompaction.value = false }
    isAwaited = false
  }

  /// A frame of a user was logged.
  func note(_ length: Int, of account: UserAccount) {
    guard !account.isPrivileged else { return }
    if account.logged.value.compaction != compaction {
      account.logged.value = (compaction, 0)
      userCount += 1
    }
    loggedByteCount += length + Self.overhead
    account.logged.value.byteCount += length + Self.overhead
    let own = account.logged.value.byteCount
    let left = space / 2 - (loggedByteCount - own)
    guard own > left / (userCount + 1), !account.waitsForCompaction.value else { return }
    account.waitsForCompaction.value = true
    waiting.append(account)
    isAwaited = true
  }
}

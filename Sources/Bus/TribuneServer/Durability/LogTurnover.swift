// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Shares the log's space between two compactions among users.
///
/// Quotas cover the frames that stay in the log. Transient frames, such as deferrals, take space until a
/// compaction ends, and can be millions a second. Half of the space is therefore shared among users, and a
/// user who has used up a share waits.
final class LogTurnover {
  /// An entry's head, and its consequences. In bytes.
  private static let overhead = 256

  private var compaction: UInt64 = 1
  private var space = Int.max / 4
  private var loggedByteCount = 0
  private var userCount = 0
  private var waiting: [UserAccount] = []

  /// Reading this costs no check of exclusive access.
  private(set) var isAwaited = false

  /// - Parameter space: bytes that can be logged until the next compaction ends.
  func begin(space: Int) {
    compaction += 1
    (self.space, loggedByteCount, userCount) = (space, 0, 0)
    while let account = waiting.popLast() { account.waitsForCompaction.value = false }
    isAwaited = false
  }

  func charge(_ length: Int, to account: UserAccount) {
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

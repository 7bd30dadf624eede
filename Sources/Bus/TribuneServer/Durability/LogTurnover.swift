// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Divides among the users the space that the log has until the next compaction ends.
///
/// Quotas limit only the frames that stay in the log. Transient frames, such as deferrals, take space until a
/// compaction ends, and clients can send millions of them a second. Unprivileged users therefore share half
/// of the space. The frames of a user that has used up its share wait for the end of the compaction.
final class LogTurnover {
  /// In bytes: the head of an entry, and the usual consequences of a frame.
  private static let overhead = 256

  private var compaction: UInt64 = 1
  private var space = Int.max / 4
  private var loggedByteCount = 0
  private var userCount = 0
  private var waiting: [UserAccount] = []

  /// True if a user waits. Unlike `waiting`, the flag can be read without a check of exclusive access.
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

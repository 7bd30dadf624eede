// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Divides the log's free space among the users, anew after each compaction.
///
/// Quotas limit only the frames that stay in the log. Transient frames, such as deferrals, take space until a
/// compaction ends, and clients can send millions of them a second. Unprivileged users therefore share half
/// of the space. Further frames of a user that has used up its share wait until the next compaction ends.
final class LogTurnover {
  /// In bytes: the head of an entry, and the usual consequences of a frame.
  private static let overhead = 256

  private var compaction: UInt64 = 1
  private var space = Int.max / 4
  private var loggedByteCount = 0
  private var userCount = 0
  private var waiting: [User] = []

  /// True if a user waits. Unlike `waiting`, the flag can be read without a check of exclusive access.
  private(set) var isAwaited = false

  /// - Parameter space: bytes that can be logged until the next compaction ends.
  func begin(space: Int) {
    compaction += 1
    (self.space, loggedByteCount, userCount) = (space, 0, 0)
    while let user = waiting.popLast() { user.waitsForCompaction.value = false }
    isAwaited = false
  }

  func charge(_ length: Int, to user: User) {
    guard !user.isPrivileged else { return }
    if user.logged.value.compaction != compaction {
      user.logged.value = (compaction, 0)
      userCount += 1
    }
    loggedByteCount += length + Self.overhead
    user.logged.value.byteCount += length + Self.overhead
    let own = user.logged.value.byteCount
    let left = space / 2 - (loggedByteCount - own)
    guard own > left / (userCount + 1), !user.waitsForCompaction.value else { return }
    user.waitsForCompaction.value = true
    waiting.append(user)
    isAwaited = true
  }
}

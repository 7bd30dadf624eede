// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// The bytes that each user's questions have taken in a delegate's queue since the queue was last empty.
///
/// One user's questions must not shut out other users' questions. Therefore, the first user may take half of
/// the queue's space for questions, the second a sixth, the third a twelfth, and so on. A privileged user may
/// take all free space.
struct QuestionSpace {
  private var taken: [UInt32: Int] = [:]
  var isEmpty: Bool { taken.isEmpty }

  mutating func take(_ length: Int, of free: Int, for asker: UserAccount) -> Bool {
    let own = taken[asker.uid] ?? 0
    let users = own > 0 ? taken.count : taken.count + 1
    guard own + length <= (asker.isPrivileged ? free + own : (free + own) / (users + 1)) else { return false }
    taken[asker.uid] = own + length
    return true
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// How many bytes of questions each user has had queued for a delegate since it last had read everything.
///
/// As with the accounts, the first user may have half of the space, the second a sixth, and so on: users whose
/// questions a delegate does not read cannot shut out the questions of another user.
struct QuestionSpace {
  private var taken: [UInt32: Int] = [:]
  var isEmpty: Bool { taken.isEmpty }

  /// - Parameters:
  ///   - length: the length of a question.
  ///   - free: the space that is left for questions.
  /// - Returns: whether its asker's user may have that much of it; if so, it is taken.
  mutating func take(_ length: Int, of free: Int, for asker: UserAccount) -> Bool {
    let own = taken[asker.uid] ?? 0
    let users = own > 0 ? taken.count : taken.count + 1
    guard own + length <= (asker.isPrivileged ? free + own : (free + own) / (users + 1)) else { return false }
    taken[asker.uid] = own + length
    return true
  }
}

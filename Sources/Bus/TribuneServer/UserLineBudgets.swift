// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneSystem

/// Limits the log lines per second that each user can cause, because a flood would hide other users' entries.
/// Root and the bus's own user are exempt, because they could control the bus anyway.
package final class UserLineBudgets {
  /// With this many budgets or more, `take` drops those without omitted lines before it adds a new one.
  private static let usersMax = 1024

  private let linesPerSecond: Int
  private var budgets: [UInt32: LineBudget] = [:]

  package init(linesPerSecond: Int) { self.linesPerSecond = linesPerSecond }

  /// Returns false if the user's budget is spent (see `LineBudget.take`).
  package func take(weight: @autoclosure () -> Int = 1, for user: UInt32, at now: Instant) -> Bool {
    if ThisProcess.isPrivileged(user) { return true }
    if budgets.count >= Self.usersMax, budgets[user] == nil {
      budgets = budgets.filter { $0.value.omittedCount > 0 }
    }
    return budgets[user, default: LineBudget(linesPerSecond: linesPerSecond)].take(weight: weight(), at: now)
  }

  package func takeOmitted() -> [(user: UInt32, count: Int)] {
    budgets.keys.sorted().compactMap { user in
      let count = budgets[user]?.takeOmittedCount() ?? 0
      return count > 0 ? (user, count) : nil
    }
  }
}

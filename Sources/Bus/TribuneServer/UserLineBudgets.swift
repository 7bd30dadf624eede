// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
import TribuneSystem

/// Limits the log lines per second that each user can cause, so that nobody can fill the journal, or hide in it what
/// others do. Lines of those who could change the journal anyway are not limited.
package final class UserLineBudgets {
  /// Budgets are dropped when there are as many, and nothing is omitted.
  private static let usersMax = 1024

  private let linesPerSecond: Int
  private var budgets: [UInt32: LineBudget] = [:]

  package init(linesPerSecond: Int) { self.linesPerSecond = linesPerSecond }

  /// Whether another line about a user may be written; if not, it is counted.
  ///
  /// - Parameter weight: as how many lines it counts.
  package func take(weight: @autoclosure () -> Int = 1, for user: UInt32, at now: Instant) -> Bool {
    if ThisProcess.isPrivileged(user) { return true }
    if budgets.count >= Self.usersMax, budgets[user] == nil {
      budgets = budgets.filter { $0.value.omittedCount > 0 }
    }
    return budgets[user, default: LineBudget(linesPerSecond: linesPerSecond)].take(weight: weight(), at: now)
  }

  /// The lines that were omitted since the last call, for each user.
  package func takeOmitted() -> [(user: UInt32, count: Int)] {
    budgets.keys.sorted().compactMap { user in
      let count = budgets[user]?.takeOmittedCount() ?? 0
      return count > 0 ? (user, count) : nil
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// Counts what the policy refuses, and logs it: for each user a few lines a second, so that nobody can fill the journal or
/// hide what others are refused.
final class DenialLog {
  private static let linesPerSecond = 5
  /// Budgets that no longer matter are dropped when there are as many.
  private static let usersMax = 1024

  private let context: ServerContext
  private var budgets: [UInt32: LineBudget] = [:]

  init(_ context: ServerContext) { self.context = context }

  func note(_ error: WireError, of session: Session) {
    context.statistics.value.denied += 1
    let user = session.peer.uid
    if budgets.count >= Self.usersMax, budgets[user] == nil { budgets.removeAll() }
    var budget = budgets[user] ?? LineBudget(linesPerSecond: Self.linesPerSecond)
    defer { budgets[user] = budget }
    let omitted = budget.omittedCount
    guard budget.take(at: context.now) else { return }
    if omitted > 0 {
      context.log.notice(
        "refused user \(user) \(budget.takeOmittedCount().counted("more request")), without a message for each",
        ["TRIBUNE_DROPPED": "\(omitted)"])
    }
    context.log.write(
      .notice, "refused connection \(session.id) of \(session.peer.summary): \(error.message)",
      session.journalFields("TRIBUNE_ERROR", "\(error.code)"))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneServer
import TribuneSystem

@Suite("Log lines that peers cause")
struct LineBudgetTests {
  @Test("are limited for each period, and the others are counted")
  func budget() {
    var budget = LineBudget(linesPerSecond: 3)
    let start = Instant(nanoseconds: 5_000_000_000)
    let first = (0..<5).map { _ in budget.take(at: start) }
    #expect(first == [true, true, true, false, false])
    let late = start.advanced(byNanoseconds: LineBudget.periodNanoseconds - 1)
    let isLateTaken = budget.take(at: late)
    #expect(!isLateTaken)
    #expect(budget.omittedCount == 3)
    let omitted = [budget.takeOmittedCount(), budget.takeOmittedCount()]
    #expect(omitted == [3, 0])
    let next = start.advanced(byNanoseconds: LineBudget.periodNanoseconds)
    let second = (0..<4).map { _ in budget.take(at: next) }
    #expect(second == [true, true, true, false])
    #expect(budget.omittedCount == 1)
  }

  @Test("count as several if they are long, and one is always taken")
  func weights() {
    var budget = LineBudget(linesPerSecond: 3)
    let start = Instant(nanoseconds: 5_000_000_000)
    let next = start.advanced(byNanoseconds: LineBudget.periodNanoseconds)
    let taken = [2, 5, 1].map { weight in budget.take(weight: weight, at: start) }
    #expect(taken == [true, true, false])
    let takenNext = [9, 1].map { weight in budget.take(weight: weight, at: next) }
    #expect(takenNext == [true, false])
  }

  @Test("are limited for each user, except the bus's own")
  @MainActor func users() {
    let budgets = UserLineBudgets(linesPerSecond: 2)
    let now = Instant(nanoseconds: 5_000_000_000)
    func taken(_ user: UInt32) -> Int { (0..<5).count { _ in budgets.take(for: user, at: now) } }
    #expect([60_001, 60_002, ThisProcess.effectiveUser].map(taken) == [2, 2, 5])
    #expect(budgets.takeOmitted().map { "\($0.user) \($0.count)" } == ["60001 3", "60002 3"])
    #expect(budgets.takeOmitted().isEmpty)
  }

  @Test("are counted for every user over the limit, however many there are")
  @MainActor func manyUsers() {
    let budgets = UserLineBudgets(linesPerSecond: 1)
    let now = Instant(nanoseconds: 5_000_000_000)
    for user in 50_000..<53_000 as Range<UInt32> {
      #expect(budgets.take(for: user, at: now))
      if user % 1000 == 0 { #expect(!budgets.take(for: user, at: now)) }
    }
    #expect(budgets.takeOmitted().map(\.user) == [50_000, 51_000, 52_000])
  }
}

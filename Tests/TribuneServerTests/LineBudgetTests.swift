// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore
import TribuneServer

@Suite("Lines that peers cause")
struct LineBudgetTests {
  @Test("are limited for each period, and the rest is counted")
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
}

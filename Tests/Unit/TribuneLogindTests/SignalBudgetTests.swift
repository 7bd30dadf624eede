// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind

@Suite("The budget of D-Bus signals", .timeLimit(.minutes(15)))
struct SignalBudgetTests {
  @Test("More than 20 within a second are omitted, and the next one has their number")
  func budget() {
    var budget = SignalBudget()
    let start = ContinuousClock.now
    for number in 0..<20 { #expect(budget.admit(at: start + .milliseconds(number)) == 0) }
    for number in 20..<1000 { #expect(budget.admit(at: start + .milliseconds(number)) == nil) }
    #expect(budget.admit(at: start + .milliseconds(1000)) == 980)
    #expect(budget.admit(at: start + .milliseconds(1001)) == 0)
  }

  @Test("No more than 100 wait for a bus that does not answer")
  func waiting() {
    var budget = SignalBudget()
    let start = ContinuousClock.now
    for second in 0..<5 {
      for _ in 0..<20 { #expect(budget.admit(at: start + .seconds(second)) == 0) }
    }
    #expect(budget.admit(at: start + .seconds(5)) == nil)
    budget.finish()
    #expect(budget.admit(at: start + .seconds(6)) == 1)
    #expect(budget.admit(at: start + .seconds(7)) == nil)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneNATS

@Suite("Questions to hosts that were not heard", .timeLimit(.minutes(15)))
struct UnheardTests {
  @Test("Each question is announced once, by its name with `may`")
  func announcements() {
    var unheard = Unheard()
    for name in ["unit.shouldStop", "cluster.shouldReboot", "unit.shouldStop", "cluster.holds"] {
      unheard.add(name)
    }
    #expect(unheard.take() == ["cluster.mayReboot", "unit.mayStop"])
    #expect(unheard.take().isEmpty)
  }

  @Test("The number of questions is limited")
  func bounded() {
    var unheard = Unheard()
    for number in 0..<(Unheard.namesMax + 10) { unheard.add("a\(number).shouldStop") }
    #expect(unheard.take().count == Unheard.namesMax)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Well-known questions", .timeLimit(.minutes(15)))
struct WellKnownQuestionTests {
  @Test("They are those in docs/NAMES.md")
  func documented() throws {
    let rows = try repositoryText("docs/NAMES.md").split(separator: "\n").map { $0.split(separator: "|") }
    let asked = rows.filter { $0.count > 2 && $0[1].trimmingPrefix(" ").hasPrefix("ask ") }
    let names = asked.flatMap { $0[0].matches(of: /`([^`]+)`/).map { String($0.1) } }
    #expect(names.count > 10)
    #expect(Set(names) == Set(WellKnownQuestions.names))
  }

  @Test(
    "A name means one if it is the action's, or a misspelling",
    arguments: [
      ("host.reboot", "host.shouldReboot"), ("host.shouldreboot", "host.shouldReboot"),
      ("host.shouldPoweroff", "host.shouldPowerOff"), ("Host.shouldReboot", "host.shouldReboot"),
      ("host.poweroff", "host.shouldPowerOff"), ("host.shouldRebot", "host.shouldReboot"),
      ("hosts.shouldReboot", "host.shouldReboot"), ("*.reboot", "*.shouldReboot"),
      ("host.shouldShutdown", "host.shouldPowerOff"), ("host.restart", "host.shouldReboot"),
      ("*.shouldpoweroff", "*.shouldPowerOff"), ("backup.prune", "backup.shouldPrune"),
    ])
  func meant(name: String, question: String) {
    #expect(WellKnownQuestions.meant(by: name) == question)
  }

  @Test(
    "A name that is one, or means something else, stays unchanged",
    arguments: [
      "host.shouldReboot", "*.shouldReboot", "host.*", "**", "browser.row", "host.uptime", "unit.stat",
      "host.rebot", "window.shouldClone", "backup.shouldPrunes", "host.willReboot", "a.shouldReboot",
    ])
  func other(name: String) { #expect(WellKnownQuestions.meant(by: name) == nil) }
}

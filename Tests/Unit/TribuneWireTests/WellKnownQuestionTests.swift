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
      ("package.shouldChange", "packages.shouldChange"), ("units.shouldStart", "unit.shouldStart"),
      ("uint.shouldStart", "unit.shouldStart"), ("packages.shouldChnage", "packages.shouldChange"),
      ("packages.shouldUpgrade", "packages.shouldChange"), ("packages.install", "packages.shouldChange"),
      ("clusters.shouldReboot", "cluster.shouldReboot"), ("unit.shouldStrat", "unit.shouldStart"),
    ])
  func meant(name: String, question: String) {
    #expect(WellKnownQuestions.meant(by: name) == question)
  }

  @Test(
    "A name that is one, or means something else, stays unchanged",
    arguments: [
      "host.shouldReboot", "*.shouldReboot", "host.*", "**", "browser.row", "host.uptime", "unit.stat",
      "host.rebot", "window.shouldClone", "backup.shouldPrunes", "host.willReboot", "a.shouldReboot",
      "backups.shouldPrune", "unix.shouldStart", "unity.shouldStart", "cluster2.shouldReboot",
      "package.shouldStart", "unit.shouldStop", "*.shouldRestart", "*.shouldShutdown",
    ])
  func other(name: String) { #expect(WellKnownQuestions.meant(by: name) == nil) }

  @Test(
    "A pattern that no question matches, or whose first token is a slip, means another one",
    arguments: [
      ("*", "**"), ("host.reboot.*", "host.shouldReboot"), ("host.shouldReboot.*", "host.shouldReboot"),
      ("host.didReboot.**", "host.shouldReboot"), ("host.restart.*.**", "host.shouldReboot"),
      ("repo.shouldPrune.*", "repo.shouldPrune"), ("repo.didFailToPrune.*", "repo.shouldPrune"),
      ("backup.prune.**", "backup.shouldPrune"), ("host.will.*", "host.*"), ("repo.should.**", "repo.*"),
      ("Host.*", "host.*"), ("HOST.**", "host.**"), ("hosts.*", "host.*"), ("hots.*", "host.*"),
      ("package.*", "packages.*"), ("Packages.**", "packages.**"), ("pacakges.*", "packages.*"),
      ("units.*", "unit.*"), ("Unit.*", "unit.*"), ("uint.**", "unit.**"), ("clusters.*", "cluster.*"),
      ("Backup.*", "backup.*"), ("scrollview.*", "scrollView.*"), ("Host.*.shouldRun", "host.*.shouldRun"),
    ])
  func meantWildcard(pattern: String, other: String) {
    #expect(WellKnownQuestions.meant(by: pattern) == other)
  }

  @Test(
    "A pattern for a program's own names stays unchanged",
    arguments: [
      "**", "*.*", "*.**", "host.*", "unit.**", "packages.*", "scrollView.*", "backups.*", "disks.*",
      "windows.**", "post.*", "most.*", "ghost.*", "unix.*", "unity.*", "host2.*", "hosting.*", "clusterA.*",
      "cluster2.*", "did-resolver.*", "will.*", "repo.mayor.*", "repo.prune.*", "host.disk.*", "user.7.**",
    ])
  func ownWildcard(pattern: String) { #expect(WellKnownQuestions.meant(by: pattern) == nil) }

  @Test(
    "The object of a question about a unit means another one, unless it has the form of one",
    arguments: [
      ("unit.shouldRestart", "nginx.service", "unit/nginx.service"),
      ("unit.shouldStart", "nginx", "unit/nginx.service"), ("unit.*", "unit/nginx", "unit/nginx.service"),
      ("unit.**", "Unit/nginx.service", "unit/nginx.service"), ("unit.shouldStart", "/", "unit/NAME.service"),
      ("unit.shouldStart", "unit/nginx.service/", "unit/nginx.service"),
      ("unit.shouldStart", "units/*", "unit/*"),
      ("unit.shouldStart", "", nil), ("unit.shouldStart", "unit/a@1.socket", nil),
      ("unit.shouldStart", "unit/*", nil), ("unit.shouldStart", "**", nil), ("unit.shouldStop", "nginx", nil),
      ("*.shouldRestart", "vm/3", nil), ("**", "repo/main", nil), ("backup.shouldPrune", "main", nil),
    ] as [(String, String, String?)])
  func meantObject(pattern: String, object: String, expected: String?) {
    #expect(WellKnownQuestions.object(meantBy: object, for: pattern) == expected)
  }
}

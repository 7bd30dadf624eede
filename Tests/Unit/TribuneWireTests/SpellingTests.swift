// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Spelling")
struct SpellingTests {
  @Test(
    "A name may mean another one that differs in capitals, a missing should, or one slip",
    arguments: [
      ("host.shouldReboot", "host.shouldreboot", "host.shouldReboot"),
      ("host.shouldReboot", "HOST.shouldReboot", "host.shouldReboot"),
      ("host.shouldReboot", "host.shouldRebot", "host.shouldReboot"),
      ("host.shouldReboot", "host.shouldReboott", "host.shouldReboot"),
      ("host.shouldReboot", "host.shouldRebooz", "host.shouldReboot"),
      ("host.shouldReboot", "hsot.shouldReboot", "host.shouldReboot"),
      ("host.shouldReboot", "host.shoudReboot", "host.shouldReboot"),
      ("host.shouldReboot", "host.reboot", "host.shouldReboot"),
      ("host.shouldReboot", "host.Rebot", "host.shouldReboot"),
      ("host.shouldReboot", "host.shouldReboot", nil),
      ("host.shouldReboot", "hots.shouldRebot", nil), ("host.shouldReboot", "host.shouldRbt", nil),
      ("host.shouldReboot", "host.should", nil), ("host.shouldReboot", "host", nil),
      ("host.shouldReboot", "host.shouldReboot.now", nil), ("unit.shouldStart", "unit.shouldRestart", nil),
      ("user.1000.shouldStop", "user.1001.shouldStop", nil), ("disk.usage", "disk.usages", "disk.usage"),
      ("vm12.shouldStop", "vm2.shouldStop", nil), ("a.shouldB", "a.shouldC", nil),
      ("a.shouldB", "b.shouldB", nil),
      ("a.shouldB", "a.shouldb", "a.shouldB"), ("a.shouldRun", "a.shouldRan", nil),
      ("*.shouldReboot", "host.shouldreboot", "host.shouldReboot"),
      ("host.*", "hosts.shouldReboot", "host.shouldReboot"), ("host.**", "Host.a.b", "host.a.b"),
      ("backup.prune.**", "bakcup.prune.a", "backup.prune.a"), ("backup.prune.**", "bakcup.pruen.a", nil),
      ("host.*", "host.shouldReboot", nil), ("**", "host.shouldReboot", nil), ("host.**", "host", nil),
    ] as [(String, String, String?)])
  func meant(_ pattern: String, name: String, expected: String?) throws {
    #expect(try Pattern(pattern).name(meantBy: name.utf8Bytes) == expected)
  }

  @Test("A name stays within its limit")
  func limit() throws {
    let space = String(repeating: "a", count: WireLimits.nameLength - 8)
    #expect(try Pattern("*.hosts").name(meantBy: "\(space).host".utf8Bytes) == "\(space).hosts")
    #expect(try Pattern("*.hosts").name(meantBy: "\(space)aa.host".utf8Bytes) == "\(space)aa.hosts")
    #expect(try Pattern("*.hosts").name(meantBy: "\(space)aaa.host".utf8Bytes) == nil)
  }
}

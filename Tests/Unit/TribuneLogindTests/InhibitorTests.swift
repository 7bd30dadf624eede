// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind
import TribuneWire

@Suite("Locks of logind", .timeLimit(.minutes(15)))
struct InhibitorTests {
  @Test(
    "A lock that blocks is a veto of its actions, and a lock that delays is none",
    arguments: [
      ("shutdown", "block", [.reboot, .kexec, .softReboot, .powerOff, .halt]),
      ("sleep", "block", [.suspend, .hibernate, .hybridSleep, .suspendThenHibernate]),
      ("sleep:shutdown:idle", "block-weak", HostQuestion.allCases),
      ("idle:handle-lid-switch", "block", []), ("shutdown", "delay", []), ("", "block", []),
    ] as [(String, String, [HostQuestion])])
  func questions(what: String, mode: String, questions: [HostQuestion]) {
    let inhibitor = Inhibitor(what: what, who: "w", why: "y", mode: mode, uid: 0, pid: 1)
    #expect(inhibitor.questions == questions)
  }

  @Test("One objection sets the lock's name and reason")
  func oneObjection() {
    let text = LockText([Objection(who: "backup", why: "backup at 40 %")])
    #expect(text.who == "backup" && text.why == "backup at 40 %")
  }

  @Test("Several objections are separated, and each name appears once")
  func objections() {
    let text = LockText([
      Objection(who: "backup", why: "one"), Objection(who: "restore", why: "two"),
      Objection(who: "backup", why: "three"),
    ])
    #expect(text.who == "backup, restore")
    #expect(text.why == "backup: one; restore: two; backup: three")
  }

  @Test("Characters that would spoil a terminal are escaped")
  func escaped() {
    let text = LockText([Objection(who: "a\nb", why: "\u{1B}[2J")])
    #expect(text.who == "a\\nb" && !text.why.unicodeScalars.contains("\u{1B}"))
  }

  @Test("Many objections are counted, and long ones are cut at a character's boundary")
  func manyObjections() {
    let text = LockText((1...7).map { Objection(who: "h\($0)", why: String(repeating: "é", count: 400)) })
    #expect(text.who == "h1, h2, h3, h4, h5, and 2 more")
    #expect(text.why.utf8.count <= 1_000 && text.why.hasSuffix("é…"))
  }

  @Test("The hold of a lock has a reason even if the lock has none", arguments: ["", " ", "\n", "\u{200B}"])
  func blank(why: String) {
    let lock = Inhibitor(what: "shutdown", who: "w", why: why, mode: "block", uid: 0, pid: 1)
    #expect(lock.reason == "it gives no reason")
  }

  @Test(
    "Each of logind's actions has its questions",
    arguments: [
      ("reboot", [.reboot]), ("kexec", [.kexec, .reboot]), ("soft-reboot", [.softReboot, .reboot]),
      ("poweroff", [.powerOff]), ("halt", [.halt, .powerOff]), ("dry-reboot", []), ("", []),
    ] as [(String, [HostQuestion])])
  func actions(action: String, questions: [HostQuestion]) {
    #expect(HostQuestion.before(action: action) == questions)
  }

  @Test("A veto of a name masks the targets of its action only")
  func targets() {
    let byName = Dictionary(uniqueKeysWithValues: HostQuestion.allCases.map { ($0.name, $0.targets) })
    #expect(
      byName == [
        "host.shouldReboot": ["reboot.target", "kexec.target", "soft-reboot.target"],
        "host.shouldKexec": ["kexec.target"], "host.shouldSoftReboot": ["soft-reboot.target"],
        "host.shouldPowerOff": ["poweroff.target", "halt.target", "exit.target"],
        "host.shouldHalt": ["halt.target"],
        "host.shouldSuspend": ["suspend.target"],
        "host.shouldHibernate": ["hibernate.target", "hybrid-sleep.target", "suspend-then-hibernate.target"],
        "host.shouldHybridSleep": ["hybrid-sleep.target"],
        "host.shouldSuspendThenHibernate": ["suspend-then-hibernate.target"],
      ])
  }

  @Test("Every well-known question about the host has an effect on logind")
  func known() {
    let known = WellKnownQuestions.names.filter { $0.hasPrefix("host.") }
    #expect(Set(known) == Set(HostQuestion.allCases.map(\.name)))
  }
}

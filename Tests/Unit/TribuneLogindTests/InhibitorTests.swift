// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneLogind

@Suite("Locks of logind", .timeLimit(.minutes(15)))
struct InhibitorTests {
  @Test(
    "A lock that blocks is a veto of what it is about, and a lock that delays of nothing",
    arguments: [
      ("shutdown", "block", [.reboot, .powerOff, .halt]), ("sleep", "block", [.suspend, .hibernate]),
      ("sleep:shutdown:idle", "block-weak", [.reboot, .powerOff, .halt, .suspend, .hibernate]),
      ("idle:handle-lid-switch", "block", []), ("shutdown", "delay", []), ("", "block", []),
    ] as [(String, String, [HostQuestion])])
  func questions(what: String, mode: String, questions: [HostQuestion]) {
    let inhibitor = Inhibitor(what: what, who: "w", why: "y", mode: mode, uid: 0, pid: 1)
    #expect(inhibitor.questions == questions)
  }

  @Test("One objection gives a lock its name and its reason")
  func oneObjection() {
    let text = LockText([Objection(who: "backup", why: "backup at 40 %")])
    #expect(text.who == "backup" && text.why == "backup at 40 %")
  }

  @Test("Several objections are told apart, and a name is there once")
  func objections() {
    let text = LockText([
      Objection(who: "backup", why: "one"), Objection(who: "restore", why: "two"),
      Objection(who: "backup", why: "three"),
    ])
    #expect(text.who == "backup, restore")
    #expect(text.why == "backup: one; restore: two; backup: three")
  }

  @Test("What would spoil a terminal is escaped")
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

  @Test(
    "The questions before an action of logind's",
    arguments: [
      ("reboot", [.reboot]), ("kexec", [.reboot]), ("soft-reboot", [.reboot]), ("poweroff", [.powerOff]),
      ("halt", [.halt, .powerOff]), ("dry-reboot", []), ("", []),
    ] as [(String, [HostQuestion])])
  func actions(action: String, questions: [HostQuestion]) {
    #expect(HostQuestion.before(action: action) == questions)
  }

  @Test("Every target belongs to one question")
  func targets() {
    let targets = HostQuestion.allCases.flatMap(\.targets)
    #expect(Set(targets).count == targets.count)
  }
}

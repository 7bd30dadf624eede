// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("logind's locks and holds", .timeLimit(.minutes(15)))
struct SystemdLogindTests {
  @Test(
    "a hold refuses a reboot by root, and systemctl shows its holder and reason",
    arguments: Container.Release.allCases)
  func hold(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    // systemctl shows no lock that does not bind root.
    let name = machine.locksBindRoot ? "host.**" : "host.shouldReboot"
    let hold = try machine.staying("hold", name, "--label=backup", "--why=backup at 40 %")
    try machine.waitForLogind("blocking shutdown: backup: backup at 40 %")
    let refusal = try machine.run("systemctl", "reboot", "--check-inhibitors=yes")
    #expect(refusal.status != 0)
    let text = refusal.output + refusal.errors
    #expect(text.contains("\"backup\"") && text.contains("\"backup at 40 %\""), "\(text)")
    #expect(try machine.run("systemctl", "reboot").status != 0)
    #expect(try machine.does("tribunectl", "holds", "-j").split(separator: "\n").count == 1)
    hold.signal(SIGKILL)
    try machine.waitForLogind("not blocking shutdown any more")
    try machine.waitForBlocks([])
  }

  @Test("a lock lists the holds of all users")
  func holds() throws {
    let machine = try Container.withLogind()
    try machine.write("allow hold host.** user:ann\n", to: "/etc/tribune/policy.d/60-ann.policy")
    let uid = try machine.addUser("ann")
    try machine.does("systemctl", "reload", "tribuned.service")
    try machine.waitForMessage("the configuration was read again", of: "tribuned.service")
    let one = try machine.start(
      as: "ann", uid, "tribunectl", "--system", "hold", "host.**", "--label=one", "--why=first")
    try machine.waitForLogind("blocking sleep: one: first")
    let two = try machine.staying("hold", "host.shouldPowerOff", "--label=two", "--why=second")
    try machine.waitForLogind("blocking shutdown: one, two: one: first; two: second")
    #expect(
      try machine.blocks() == [
        Container.Lock(what: "shutdown", who: "one, two", why: "one: first; two: second", uid: 0),
        Container.Lock(what: "sleep", who: "one", why: "first", uid: 0),
      ])
    one.signal(SIGKILL)
    try machine.waitForLogind("blocking shutdown: two: second")
    try machine.waitForLogind("not blocking sleep any more")
    try machine.waitForBlocks([Container.Lock(what: "shutdown", who: "two", why: "second", uid: 0)])
    withExtendedLifetime(two) {}
  }

  @Test("a missing required delegate blocks, as does a hold on one object")
  func required() throws {
    let machine = try Container.withLogind(files: [
      "/etc/tribune/tribuned.conf.d/required.conf":
        "[Query \"host.shouldSuspend\"]\nRequireDelegate=label:desktop\n"
    ])
    let other = try machine.staying("hold", "host.shouldReboot", "--object=vm/1", "--label=vm", "--why=other")
    try machine.waitForLogind("blocking sleep: label:desktop: required, and not attached")
    try machine.waitForLogind("blocking shutdown: vm: other")
    #expect(try Set(machine.blocks().map(\.what)) == ["shutdown", "sleep"])
    other.signal(SIGTERM)
    try machine.waitForLogind("not blocking shutdown any more")
    let delegate = try machine.staying("delegate", "host.shouldSuspend", "--label=desktop", "--approve")
    try machine.waitForLogind("not blocking sleep any more")
    try machine.write(
      "[Query \"host.shouldReboot\"]\nRequireDelegate=label:db\n",
      to: "/etc/tribune/tribuned.conf.d/required.conf")
    try machine.does("systemctl", "reload", "tribuned.service")
    try machine.waitForLogind("blocking shutdown: label:db: required, and not attached")
    withExtendedLifetime((other, delegate)) {}
  }

  @Test(
    "another program's lock is a hold with its user and process, in lists and verdicts",
    arguments: Container.Release.allCases)
  func foreign(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    // polkit decides whether a user may block.
    try machine.write(
      """
      polkit.addRule(function(action, subject) {
        if (action.id.startsWith("org.freedesktop.login1.inhibit") && subject.user == "ann") return polkit.Result.YES;
      });

      """, to: "/etc/polkit-1/rules.d/10-ann.rules")
    try machine.does("useradd", "ann")
    let uid = try machine.does("id", "--user", "ann")
    let taken = try machine.staying("observe", "tribune.hold.didTake", "-N", "5")
    let lock = try machine.start(
      as: "ann", uid, "systemd-inhibit", "--what=shutdown", "--who=packager", "--why=an upgrade runs",
      "sleep",
      "infinity")
    try #require(taken.status() == 0)
    let holds = try machine.does("tribunectl", "holds", "-j").split(separator: "\n").map {
      try jsonObject($0)
    }
    #expect(
      Set(holds.map { $0["name"] as? String }) == [
        "host.shouldReboot", "host.shouldKexec", "host.shouldSoftReboot", "host.shouldPowerOff",
        "host.shouldHalt",
      ])
    let pid = try machine.does("pgrep", "-x", "systemd-inhibit")
    for hold in holds {
      #expect(hold["label"] as? String == "logind:packager" && hold["why"] as? String == "an upgrade runs")
      #expect(hold["pid"] as? Int == Int(pid) && hold["uid"] as? Int == Int(uid))
      #expect(hold["process"] as? String == "systemd-inhibit")
    }
    let verdict = try machine.run("tribunectl", "ask", "host.shouldReboot")
    #expect(verdict.status == 1)
    #expect(verdict.output.contains("logind:packager") && verdict.output.contains("an upgrade runs"))
    #expect(try machine.does("tribunectl", "explain", "host.shouldHalt").contains("logind:packager"))
    let released = try machine.staying("observe", "tribune.hold.didRelease", "-N", "5")
    lock.signal(SIGKILL)
    try #require(released.status() == 0)
    #expect(try machine.run("tribunectl", "ask", "host.shouldReboot").status == 0)
  }

  @Test("with Probe=, logind is blocked while a delegate would veto")
  func probe() throws {
    let machine = try Container.withLogind(settings: ["Probe=1s"])
    let delegate = try machine.staying(
      "delegate", "host.shouldReboot", "--label=db", "--veto=the replica is not in sync")
    try machine.waitForLogind("blocking shutdown: db: the replica is not in sync")
    delegate.signal(SIGKILL)
    try machine.waitForLogind("not blocking shutdown any more")
  }

  @Test("a bus that refuses tribune-logind still has vetoes: its locks stay, also those of delegates")
  func refused() throws {
    let machine = try Container.withLogind(settings: ["Probe=1h"])
    let delegate = try machine.staying("delegate", "host.shouldSuspend", "--label=db", "--veto=busy")
    let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
    try machine.waitForLogind("blocking shutdown: backup: now")
    try machine.does("systemctl", "restart", Container.logindUnit)
    try machine.waitForLogind("blocking sleep: db: busy")
    let locks = [
      Container.Lock(what: "shutdown", who: "backup", why: "now", uid: 0),
      Container.Lock(what: "sleep", who: "db", why: "busy", uid: 0),
    ]
    try machine.waitForBlocks(locks)
    let policy = "/etc/tribune/policy.d/90-refused.policy"
    try machine.write("deny observe tribune.hold.* user:root\n", to: policy)
    try machine.does("systemctl", "reload", "tribuned.service")
    try machine.waitForEntry("_SYSTEMD_UNIT=\(Container.logindUnit)") {
      ($0["MESSAGE"] as? String)?.hasPrefix("not connected to the bus: ") == true
    }
    #expect(try machine.blocks() == locks)
    try machine.does("rm", policy)
    try machine.does("systemctl", "reload", "tribuned.service")
    delegate.signal(SIGKILL)
    try machine.waitForLogind("not blocking sleep any more")
    hold.signal(SIGKILL)
    try machine.waitForLogind("not blocking shutdown any more")
    try machine.waitForBlocks([])
  }

  @Test("with Enforce=mask, systemd starts no target of a vetoed action, and all others")
  func mask() throws {
    let between = "/run/systemd/between"
    let machine = try Container.withLogind(
      settings: ["Enforce=mask"],
      files: [
        "/etc/systemd/system/\(Container.logindUnit).d/between.conf":
          "[Service]\nExecStartPre=/bin/sh -c 'find /run/systemd/system* -lname /dev/null -printf \"%%f \" >\(between)'\n"
      ])
    // An administrator's mask stays, beside that of the hold.
    try machine.does("systemctl", "mask", "--runtime", "suspend.target")
    let all = ["kexec.target", "reboot.target", "soft-reboot.target", "suspend.target", "suspend.target"]
    let hold = try machine.staying(
      "hold", "host.shouldReboot", "host.shouldSuspend", "--label=backup", "--why=now")
    try machine.waitForLogind("masked: kexec.target reboot.target soft-reboot.target suspend.target")
    #expect(try machine.masked() == all)
    let refusal = try machine.run("systemctl", "start", "reboot.target")
    #expect(refusal.status != 0 && refusal.errors.contains("masked"), "\(refusal.errors)")
    try machine.restart(Container.logindUnit, by: "KILL")
    #expect(try machine.masked() == all)
    #expect(try machine.read(between).split(separator: " ").count == all.count)
    try machine.does("rm", between)
    try machine.does("systemctl", "restart", Container.logindUnit)
    #expect(try machine.masked() == all)
    #expect(try machine.read(between).split(separator: " ").count == all.count)
    try machine.does("systemctl", "stop", Container.logindUnit)
    #expect(try machine.masked() == ["suspend.target"])
    try machine.does("systemctl", "start", Container.logindUnit)
    #expect(try machine.masked() == all)
    hold.signal(SIGKILL)
    try machine.waitForLogind("nothing is masked any more")
    #expect(try machine.masked() == ["suspend.target"])
  }

  @Test(
    "a hold binds root however systemd is asked, while logind hangs, and if /etc has the target",
    arguments: Container.Release.allCases)
  func everyWay(on release: Container.Release) throws {
    let machine = try Container.withLogind(
      release, files: ["/etc/systemd/system/reboot.target": "[Unit]\nRequires=systemd-reboot.service\n"])
    let hold = try machine.staying("hold", "host.**", "--label=backup", "--why=now")
    try machine.does("systemctl", "kill", "--signal=STOP", "systemd-logind.service")
    let hanging = try machine.run("env", "SYSTEMD_BUS_TIMEOUT=1s", "systemctl", "reboot")
    #expect(hanging.status != 0 && hanging.errors.contains("masked"), "\(hanging.errors)")
    for action in ["reboot", "poweroff", "halt", "kexec", "exit", "suspend", "ctrl-alt-del"] {
      let refusal = try machine.run("systemctl", "start", "\(action).target")
      #expect(refusal.status != 0 && refusal.errors.contains("masked"), "\(action): \(refusal.errors)")
    }
    // As the kernel does at Ctrl+Alt+Del.
    try machine.does("kill", "-INT", "1")
    try machine.waitForEntry("_PID=1") {
      let message = $0["MESSAGE"] as? String ?? ""
      return message.contains("ctrl-alt-del.target") && message.contains("masked")
    }
    withExtendedLifetime(hold) {}
  }

  @Test(
    "a hold that is taken while logind hangs masks at once, and then says that it binds root",
    arguments: Container.Release.allCases)
  func hanging(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    try machine.does("systemctl", "kill", "--signal=STOP", "systemd-logind.service")
    let refusal = try machine.run(
      "tribunectl", "hold", "host.shouldReboot", "--why=now", "--", "systemctl", "start", "reboot.target")
    #expect(refusal.status != 0 && refusal.errors.contains("masked"), "\(refusal.errors)")
    #expect(!refusal.errors.contains("the hold"), "\(refusal.errors)")
    try machine.waitForMessage("cannot block shutdown with logind", of: Container.logindUnit)
    let said = try machine.does("journalctl", "--output=cat", "_SYSTEMD_UNIT=\(Container.logindUnit)")
    let mask = try #require(said.range(of: "masked: kexec.target reboot.target soft-reboot.target"))
    let lock = try #require(said.range(of: "cannot block shutdown with logind"))
    #expect(mask.upperBound < lock.lowerBound, "\(said)")
  }

  @Test(
    "a hold says whom it binds on this host",
    arguments: Container.Release.allCases, ["mask", "inhibit"])
  func binding(on release: Container.Release, enforce: String) throws {
    let machine = try Container.withLogind(release, settings: ["Enforce=\(enforce)"])
    let hold = try machine.staying("hold", "host.**", "--label=backup", "--why=now")
    let reply = try jsonObject(
      machine.does(
        "tribunectl", "query", "host.enforcement", #"{"name":"host.shouldReboot","after":"hold"}"#))
    let binds = enforce == "mask" || machine.locksBindRoot
    #expect(reply["isInForce"] as? Bool == true)
    #expect(
      reply["says"] as? String
        == (binds
          ? "the hold binds root, too"
          : "the hold does not bind root, who can still use systemctl: Enforce= is off in logind.conf"))
    #expect(try machine.masked().contains("reboot.target") == (enforce == "mask"))
    withExtendedLifetime(hold) {}
  }

  @Test("a target that cannot be masked is reported, and the hold says that it does not bind root")
  func unmaskable() throws {
    let machine = try Container.withLogind(files: [
      "/etc/systemd/system.control/reboot.target": "[Unit]\nRequires=systemd-reboot.service\n"
    ])
    let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
    #expect(
      try hold.errors.line()
        == "the hold may not bind root: not all is masked (see the journal of tribune-logind)")
    try machine.waitForMessage("cannot mask what is vetoed", of: Container.logindUnit)
    // The other targets are masked, and systemd is not reloaded for each retry.
    #expect(try machine.masked().contains("soft-reboot.target"))
    let reloads = try machine.does("journalctl", "--boot", "--output=cat", "_PID=1").matches(of: /Reloading/)
      .count
    #expect(reloads <= 2)
    withExtendedLifetime(hold) {}
  }

  @Test("a reload takes other settings, and keeps the old ones if there is an error")
  func reload() throws {
    let machine = try Container.withLogind(settings: ["Enforce=inhibit"])
    let hold = try machine.staying("hold", "host.shouldPowerOff", "--label=backup", "--why=now")
    try machine.waitForLogind("blocking shutdown: backup: now")
    try machine.write("[Logind]\nEnforce=mask\n", to: "/etc/tribune/logind.conf.d/test.conf")
    try machine.does("systemctl", "reload", Container.logindUnit)
    try machine.waitForLogind("masked: exit.target halt.target poweroff.target")
    try machine.write("[Logind]\nEnforce=no\n", to: "/etc/tribune/logind.conf.d/test.conf")
    try machine.does("systemctl", "reload", Container.logindUnit)
    try machine.waitForLogind("the configuration has errors; the old one stays in force")
    #expect(try machine.masked() == ["exit.target", "halt.target", "poweroff.target"])
    let checked = try machine.run("tribune-logind", "--check-config")
    #expect(
      checked.status == 1 && checked.errors.contains("test.conf:2: error: Enforce=:"), "\(checked.errors)")
    try machine.does("mv", "/etc/tribune", "/etc/away")
    try machine.does("systemctl", "reload", Container.logindUnit)
    try machine.waitForLogind("/etc/tribune: error: does not exist")
    #expect(try machine.masked() == ["exit.target", "halt.target", "poweroff.target"])
    try machine.does("tribune-logind", "--unmask")
    #expect(try machine.masked().isEmpty)
    let next = try machine.staying("hold", "host.shouldPowerOff", "--label=next", "--why=then")
    #expect(try machine.masked() == ["exit.target", "halt.target", "poweroff.target"])
    withExtendedLifetime((hold, next)) {}
  }

  @Test("chosen D-Bus signals are notifications with their arguments; signals of other senders are not")
  func signals() throws {
    let machine = try Container.withLogind(files: [
      "/etc/tribune/signals.conf.d/test.conf": """
      [Signal "org.freedesktop.login1.Manager.UserNew"]
      Post=user.didAppear
      Object=host
      Retain=yes
      [Signal "org.example.Fake.Happened"]
      Post=fake.happened
      Sender=org.freedesktop.login1

      """
    ])
    let observer = try machine.staying("observe", "*.*", "-j")
    try machine.does("busctl", "emit", "/org/example", "org.example.Fake", "Happened", "s", "forged")
    try machine.emitToLogind("/org/example", "org.example.Fake", "Happened", "s", "forged")
    try machine.emitToLogind(
      "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "UserNew", "uo", "7", "/forged")
    let uid = try machine.addUser("ann")
    let notification = try observer.output.object()
    #expect(
      notification["name"] as? String == "user.didAppear" && notification["object"] as? String == "host")
    let userInfo = try #require(notification["userInfo"] as? [String: Any])
    #expect(userInfo["signal"] as? String == "org.freedesktop.login1.Manager.UserNew")
    #expect((userInfo["arguments"] as? [Any])?.first as? Int == Int(uid))
    #expect(userInfo["path"] as? String == "/org/freedesktop/login1")
    #expect(
      try machine.does("tribunectl", "observe", "user.**", "--retained", "-N", "1", "-j").contains("UserNew"))
  }
}

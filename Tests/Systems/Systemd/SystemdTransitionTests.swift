// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Shutdowns and the bus", .timeLimit(.minutes(15)))
struct SystemdTransitionTests {
  /// Observes in a unit: a shutdown stops all other processes, and waits for units.
  private func observe(_ pattern: String, on machine: Container, running script: String) throws {
    try machine.write(script, to: "/root/handle")
    try machine.does(
      "systemd-run", "--unit=observer", "tribunectl", "observe", pattern, "--awaited", "--exec", "sh",
      "/root/handle")
    try machine.waitForMessage("observing \(pattern)", of: "observer.service")
  }

  @Test(
    "observers finish before the host goes down, and know whether it reboots",
    arguments: [
      (.own, "reboot", "host.willReboot"), (.own, "poweroff", "host.willPowerOff"),
      (.newer, "reboot", "host.willReboot"),
    ] as [(Container.Release, String, String)])
  func awaited(on release: Container.Release, command: String, name: String) throws {
    let machine = try Container.withLogind(release)
    try observe(
      "host.**", on: machine,
      running:
        "(echo $TRIBUNE_NAME; systemctl is-active tribuned.service; tribunectl actions -o '{name}') >>/var/lib/ready"
    )
    #expect(try machine.powerOff(by: "systemctl", command) == (command == "reboot" ? 133 : 0))
    let question = name.replacing("will", with: "should")
    #expect(try machine.left("/var/lib/ready") == "\(name)\nactive\n\(question)\n")
    let messages = try machine.logindMessagesLeft()
    #expect(messages.contains("\(name): everybody is ready"), "\(messages)")
  }

  @Test(
    "an override powers the host off despite a hold that binds root",
    arguments: [
      (.own, true, ["systemctl", "poweroff"]), (.newer, true, ["systemctl", "poweroff"]),
      (.newer, false, ["systemctl", "poweroff"]), (.own, false, ["shutdown", "-h", "+0"]),
      (.newer, true, ["shutdown", "-h", "+0"]),
    ] as [(Container.Release, Bool, [String])])
  func overridden(on release: Container.Release, withPolkit: Bool, command: [String]) throws {
    let machine = try Container.withLogind(release)
    if !withPolkit { try machine.does("systemctl", "mask", "--now", "--runtime", "polkit.service") }
    let hold = try machine.staying("hold", "host.**", "--label=backup", "--why=now")
    #expect(try machine.run("systemctl", "poweroff").status != 0)
    let guarding =
      ["tribunectl", "guard", "host.powerOff", "--override=the battery is empty", "--"] + command
    #expect(try machine.powerOff(by: guarding) == 0)
    let messages = try machine.logindMessagesLeft()
    #expect(
      messages.contains {
        $0.hasPrefix("host.shouldPowerOff is overridden: ") && $0.hasSuffix("the battery is empty")
      }, "\(messages)")
    withExtendedLifetime(hold) {}
  }

  @Test(
    "a hold stops root's commands and calls, and an override by molly-guard powers the host off",
    arguments: Container.Release.allCases, [true, false])
  func commands(on release: Container.Release, withPolkit: Bool) throws {
    let machine = try Container.withLogind(release)
    if !withPolkit { try machine.does("systemctl", "mask", "--now", "--runtime", "polkit.service") }
    let hold = try machine.staying(
      "hold", "host.shouldPowerOff", "host.shouldReboot", "--label=backup", "--why=now")
    // Without starting a program: the hold has waited for its masks.
    for target in ["poweroff", "reboot"] {
      let mask = "\(machine.root)/run/systemd/system.control/\(target).target"
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: mask) == "/dev/null")
    }
    let call = "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager"
    for command in [
      "poweroff", "shutdown now", "\(call) PowerOff b false",
      "reboot", "shutdown -r now", "\(call) Reboot b false",
    ] { #expect(try machine.run("sh", "-c", command).status != 0, "\(command)") }
    // As NUT runs it.
    let scheduled = try machine.run("shutdown", "-h", "+0")
    if machine.locksBindRoot {
      #expect(scheduled.status != 0 && scheduled.errors.contains("Access denied"), "\(scheduled.errors)")
    } else {
      #expect(scheduled.status == 0, "\(scheduled.errors)")
      try machine.waitForEntry("_SYSTEMD_UNIT=systemd-logind.service") {
        ($0["MESSAGE"] as? String)?.contains("poweroff.target is masked") == true
      }
    }
    try machine.copy("Examples/molly-guard/40-tribune", to: "/etc/molly-guard/run.d/40-tribune", mode: 0o755)
    #expect(try machine.powerOff(by: "poweroff", "--", "--override=the battery is empty") == 0)
    let messages = try machine.logindMessagesLeft()
    #expect(messages.contains { $0.hasPrefix("host.shouldPowerOff is overridden: ") }, "\(messages)")
    withExtendedLifetime(hold) {}
  }

  private static let nut = [
    "nut.conf": "MODE=standalone\n",
    "ups.conf": "[dummy]\ndriver = dummy-ups\nport = dummy.dev\n", "dummy.dev": "ups.status: OB LB\n",
    "upsd.conf": "LISTEN 127.0.0.1 3493\n",
    "upsd.users": "[admin]\npassword = x\nupsmon primary\n",
    "upsmon.conf": """
    MONITOR dummy@127.0.0.1 1 admin x primary
    MINSUPPLIES 1
    POLLFREQ 1
    FINALDELAY 0
    SHUTDOWNCMD "tribunectl guard host.powerOff --override='the battery is empty' --timeout=5s \
      --if-unreachable=allow -- systemctl poweroff"

    """,
  ]

  @Test(
    "NUT powers the host off despite a hold when the battery is empty",
    arguments: Container.Release.allCases)
  func ups(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    for (file, text) in Self.nut { try machine.write(text, to: "/etc/nut/\(file)") }
    let hold = try machine.staying("hold", "host.**", "--label=backup", "--why=now")
    #expect(try machine.run("systemctl", "poweroff").status != 0)
    let start = "install -d -o nut -g nut /run/nut; (upsdrvctl start; upsd; upsmon) >/dev/null 2>&1"
    #expect(try machine.powerOff(by: "sh", "-c", start) == 0)
    withExtendedLifetime(hold) {}
  }

  @Test("a hold on a reboot does not keep root from a power off", arguments: Container.Release.allCases)
  func powerOff(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
    #expect(try machine.run("systemctl", "reboot").status != 0)
    #expect(try machine.powerOff(by: "systemctl", "poweroff") == 0)
    withExtendedLifetime(hold) {}
  }

  @Test("a command that fails ends its override, and its action is vetoed again")
  func overriddenInVain() throws {
    let machine = try Container.withLogind()
    let hold = try machine.staying("hold", "host.shouldPowerOff", "--label=backup", "--why=now")
    let guarded = try machine.run(
      "tribunectl", "guard", "host.powerOff", "--override=now", "--", "sh", "-c",
      "find /run/systemd/system.control -lname /dev/null; exit 3")
    #expect(guarded.status == 3 && guarded.output == "", "\(guarded.output)")
    try machine.waitForLogind("host.shouldPowerOff is not overridden any more")
    #expect(try machine.run("systemctl", "poweroff", "--check-inhibitors=yes").status != 0)
    withExtendedLifetime(hold) {}
  }

  @Test("a hold during an override says that it does not bind yet, and does once the override ends")
  func overriddenAtFirst() throws {
    let machine = try Container.withLogind()
    let earlier = try machine.staying("hold", "host.shouldPowerOff", "--label=earlier", "--why=now")
    #expect(try machine.run("tribunectl", "ask", "host.shouldPowerOff", "--override=now").status == 0)
    let hold = try machine.staying("hold", "host.shouldPowerOff", "--label=backup", "--why=now")
    let time = "for 120.0 seconds, or until it fails"
    #expect(
      try hold.errors.line() == "the hold does not bind yet: host.shouldPowerOff is overridden \(time)")
    #expect(try machine.masked().isEmpty)
    try machine.does("tribunectl", "post", "host.didFailToPowerOff")
    try machine.waitForLogind("host.shouldPowerOff is not overridden any more")
    let next = try machine.staying("hold", "host.shouldPowerOff", "--label=next", "--why=now")
    #expect(try machine.masked() == ["exit.target", "halt.target", "poweroff.target"])
    withExtendedLifetime((earlier, hold, next)) {}
  }

  @Test("a guarded command that waited for a hold runs once the mask is gone")
  func awaitedMask() throws {
    let machine = try Container.withLogind()
    for _ in 1...5 {
      let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
      let guarded = try machine.start(
        "tribunectl",
        ["guard", "host.reboot", "--wait-until-allowed", "--"]
          + ["systemctl", "show", "--property=LoadState", "--value", "reboot.target"])
      #expect(try guarded.errors.line()?.contains("waiting until ") == true)
      hold.signal(SIGTERM)
      #expect(try guarded.output.rest() == "loaded\n")
    }
  }

  @Test("an override runs its command even if tribune-logind hangs or does not run")
  func overriddenWithoutHelp() throws {
    let machine = try Container.withLogind()
    let hold = try machine.staying("hold", "host.shouldPowerOff", "--label=backup", "--why=now")
    for command in [["kill", "--signal=STOP"], ["stop"]] {
      try machine.does(["systemctl"] + command + [Container.logindUnit])
      let guarded = try machine.run(
        "tribunectl", "guard", "host.powerOff", "--override=now", "--timeout=1s", "--", "echo", "ran")
      #expect(guarded.status == 0 && guarded.output == "ran\n", "\(guarded)")
      #expect(
        guarded.errors.contains("host.shouldPowerOff may still be refused: tribune-logind"),
        "\(guarded.errors)")
    }
    withExtendedLifetime(hold) {}
  }

  @Test(
    "a hold that comes while the host goes down fails with a reason", arguments: Container.Release.allCases)
  func tooLate(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    try observe(
      "host.willReboot", on: machine,
      running: """
        for name in host.shouldReboot 'host.*'; do
          tribunectl hold "$name" --why=now -- true 2>>/var/lib/late; echo $? >>/var/lib/late
        done

        """)
    #expect(try machine.powerOff(by: "systemctl", "reboot") == 133)
    let late = try machine.left("/var/lib/late")
    #expect(late.matches(of: /too late/).count >= 2 && late.matches(of: /\n255\n/).count == 2, "\(late)")
  }

  @Test("an observer that is late is named, and the host goes down")
  func late() throws {
    let machine = try Container.withLogind(files: [
      "/etc/systemd/logind.conf.d/zz.conf": "[Login]\nInhibitDelayMaxSec=2s\n"
    ])
    try observe("host.willReboot", on: machine, running: "sleep 1000")
    #expect(try machine.powerOff(by: "systemctl", "reboot") == 133)
    let messages = try machine.logindMessagesLeft()
    #expect(
      messages.contains {
        $0.hasPrefix("host.willReboot: tribunectl (pid ") && $0.hasSuffix("was not ready in time")
      },
      "\(messages)")
  }

  @Test("observers finish before the host sleeps, and learn that it is awake; a hold keeps it awake")
  func suspended() throws {
    let machine = try Container.withLogind()
    // Replaces the kernel's file that starts a sleep: a container has none, and must not sleep.
    try #require(try machine.does("stat", "--file-system", "--format=%T", "/sys") == "tmpfs")
    try machine.does(
      "sh", "-c", "mount -o remount,rw /sys; mkdir /sys/power; echo freeze mem >/sys/power/state")
    try machine.restart("systemd-logind.service", by: "TERM")
    let hold = try machine.staying("hold", "host.shouldSuspend", "--label=backup", "--why=now")
    try machine.waitForLogind("blocking sleep: backup: now")
    let refusal = try machine.run("systemctl", "suspend", "--check-inhibitors=yes")
    // systemctl shows no lock that does not bind root.
    let shows = machine.locksBindRoot || refusal.errors.contains("\"backup\"")
    #expect(refusal.status != 0 && shows, "\(refusal.errors)")
    hold.signal(SIGKILL)
    try machine.waitForLogind("not blocking sleep any more")
    try machine.waitForLogind("nothing is masked any more")
    try observe("host.willSuspend", on: machine, running: "cp /sys/power/state /root/before")
    let observer = try machine.staying("observe", "host.**", "-N", "2", "-j")
    try machine.does("systemctl", "suspend", "--check-inhibitors=yes")
    #expect(try observer.output.object()["name"] as? String == "host.willSuspend")
    #expect(try observer.output.object()["name"] as? String == "host.didResume")
    #expect(try machine.read("/root/before") == "freeze mem\n")
    #expect(try machine.read("/sys/power/state").hasPrefix("mem"))
  }

  @Test("only logind's signals announce that the host goes down")
  func forged() throws {
    let machine = try Container.withLogind()
    let observer = try machine.staying("observe", "host.**", "-N", "1", "-j")
    let manager = "org.freedesktop.login1.Manager"
    try machine.emitToLogind("/org/freedesktop/login1", manager, "PrepareForShutdown", "b", "true")
    try machine.emitToLogind(
      "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "sss", "org.freedesktop.login1",
      ":1.1", "")
    try machine.does("busctl", "emit", "/org/freedesktop/login1", manager, "PrepareForShutdown", "b", "true")
    let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
    try machine.waitForLogind("blocking shutdown: backup: now")
    #expect(try machine.blocks().map(\.who) == ["backup"])
    try machine.does("tribunectl", "post", "host.didTest")
    #expect(try observer.output.object()["name"] as? String == "host.didTest")
    withExtendedLifetime(hold) {}
  }

  @Test("observers learn that the host failed to go down")
  func failed() throws {
    let machine = try Container.withLogind()
    // Masks the target's own service: logind refuses a masked target by itself.
    try machine.does("systemctl", "mask", "--runtime", "systemd-reboot.service")
    let observer = try machine.staying("observe", "host.**", "-N", "2", "-j")
    _ = try machine.run("systemctl", "reboot")
    #expect(try observer.output.object()["name"] as? String == "host.willReboot")
    #expect(try observer.output.object()["name"] as? String == "host.didFailToReboot")
  }

  @Test(
    "a delegate's veto cancels a scheduled shutdown, with the reasons",
    arguments: Container.Release.allCases)
  func vetoed(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    let delegate = try machine.staying(
      "delegate", "host.shouldReboot", "--label=db", "--veto=the replica is not in sync")
    try machine.does("shutdown", "-r", "+1")
    try machine.waitForLogind("cancelled the reboot, because of a veto of host.shouldReboot")
    try machine.waitForLogind("  db: the replica is not in sync")
    #expect(try machine.scheduledShutdown() == "")
    withExtendedLifetime(delegate) {}
  }

  @Test(
    "a hold or a delegate that comes after the last question also cancels a scheduled shutdown",
    arguments: [["hold", "--why=now"], ["delegate", "--veto=now"]])
  func vetoedLate(verb: [String]) throws {
    let machine = try Container.withLogind()
    try machine.does("shutdown", "-P", "+1")
    try machine.waitForMessage("may happen: there is no veto", of: Container.logindUnit)
    let veto = try machine.staying(verb[0], "host.shouldPowerOff", "--label=backup", verb[1])
    try machine.waitForLogind("cancelled the poweroff, because of a veto of host.shouldPowerOff")
    #expect(try machine.scheduledShutdown() == "")
    withExtendedLifetime(veto) {}
  }

  @Test("a delegate that announces another answer after the last question is asked again")
  func announced() throws {
    let machine = try Container.withLogind()
    let delegate = try machine.staying(
      "delegate", "host.shouldPowerOff", "--exec", "sh", "-c", "test ! -e /root/busy")
    try machine.does("shutdown", "-P", "+1")
    try machine.waitForMessage("may happen: there is no veto", of: Container.logindUnit)
    try machine.write("", to: "/root/busy")
    try machine.does("tribunectl", "post", "host.mayPowerOff")
    try machine.waitForLogind("cancelled the poweroff, because of a veto of host.shouldPowerOff")
    #expect(try machine.scheduledShutdown() == "")
    withExtendedLifetime(delegate) {}
  }

  @Test("no delegate is asked about a reboot that is under way", arguments: Container.Release.allCases)
  func underWay(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    try machine.write(
      unit: "delegate.service",
      """
      [Service]
      Type=notify
      ExecStart=tribunectl delegate host.shouldReboot --veto=no

      """)
    try machine.does("systemctl", "start", "delegate.service")
    try observe("host.willReboot", on: machine, running: "systemd-inhibit --what=sleep --mode=delay true")
    #expect(try machine.powerOff(by: "systemctl", "reboot") == 133)
    let messages = try machine.logindMessagesLeft()
    #expect(!messages.contains { $0.contains("cancelled") || $0.contains("may happen") }, "\(messages)")
  }

  @Test("the question about a scheduled shutdown has its action and time; without a veto, the shutdown stays")
  func allowed() throws {
    let machine = try Container.withLogind()
    let delegate = try machine.staying(
      "delegate", "host.shouldPowerOff", "--exec", "sh", "-c", "cat >/var/lib/asked")
    try machine.does("shutdown", "-P", "+10")
    try machine.waitForMessage("may happen: there is no veto", of: Container.logindUnit)
    let userInfo = try jsonObject(machine.read("/var/lib/asked"))
    #expect(userInfo["action"] as? String == "poweroff")
    let seconds = try #require(userInfo["inSeconds"] as? Int)
    #expect((540...600).contains(seconds))
    #expect(try machine.scheduledShutdown() == "poweroff")
    let observer = try machine.staying("observe", "host.didFailToPowerOff", "-N", "1")
    try machine.does("shutdown", "-c")
    #expect(observer.status() == 0)
    withExtendedLifetime(delegate) {}
  }

  @Test(
    "a minute before a scheduled shutdown, delegates are asked again, and all terminals get the reasons")
  func askedAgain() throws {
    let machine = try Container.withLogind()
    // wall(1) writes to the terminals of logged-in users.
    let terminal = try machine.start(
      "script", ["--quiet", "--flush", "--command", "login -f root", "/dev/null"], input: Pipe())
    let delegate = try machine.staying(
      "delegate", "host.shouldHalt", "--label=db", "--exec", "sh", "-c",
      "test ! -e /root/busy || { echo not in sync; exit 1; }")
    let time = String(UInt64((Date().timeIntervalSince1970 + 65) * 1_000_000))
    try machine.does(
      "busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
      "ScheduleShutdown", "st", "halt", time)
    try machine.waitForMessage("may happen: there is no veto", of: Container.logindUnit)
    try machine.write("", to: "/root/busy")
    try machine.waitForLogind("cancelled the halt, because of a veto of host.shouldHalt")
    #expect(try machine.scheduledShutdown() == "")
    // The newer wall(1) asks logind for sessions, which logind cannot make where control groups are of version 1.
    if machine.locksBindRoot { return }
    var shown = false
    while !shown, let line = try terminal.output.line() { shown = line.contains("  db: not in sync") }
    #expect(shown)
    withExtendedLifetime(delegate) {}
  }
}

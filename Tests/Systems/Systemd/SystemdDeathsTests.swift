// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneTestSupport

@Suite("Crashes of the bus and logind", .timeLimit(.minutes(15)))
struct SystemdDeathsTests {
  @Test("each service is restarted, and the locks outlast it", arguments: Container.Release.allCases)
  func restarts(on release: Container.Release) throws {
    let machine = try Container.withLogind(release)
    let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
    try machine.waitForLogind("blocking shutdown: backup: now")
    let lock = [Container.Lock(what: "shutdown", who: "backup", why: "now", uid: 0)]
    for unit in [Container.logindUnit, "systemd-logind.service", "tribuned.service"] {
      for signal in ["KILL", "TERM"] where unit != "systemd-logind.service" || signal == "KILL" {
        try machine.restart(unit, by: signal)
        #expect(try machine.blocks() == lock, "\(unit) got \(signal)")
      }
    }
    hold.signal(SIGKILL)
    let last = try machine.staying("hold", "host.shouldReboot", "--label=last", "--why=then")
    try machine.waitForLogind("blocking shutdown: last: then")
    #expect(try machine.blocks().map(\.who) == ["last"])
    withExtendedLifetime(last) {}
  }

  @Test("after a restart of D-Bus, vetoes that came meanwhile are reported and locked")
  func busRestarted() throws {
    let machine = try Container.withLogind()
    try machine.does("systemctl", "stop", "dbus.socket", "dbus.service")
    try machine.waitForMessage("logind is gone", of: Container.logindUnit)
    let hold = try machine.staying("hold", "host.shouldReboot", "--label=backup", "--why=now")
    try machine.waitForLogind("masked: kexec.target reboot.target soft-reboot.target")
    try machine.does("systemctl", "start", "dbus.socket", "dbus.service")
    // This version of logind does not return to D-Bus by itself.
    if machine.locksBindRoot { try machine.does("systemctl", "restart", "systemd-logind.service") }
    try machine.waitForLogind("logind did not know of a veto until now: backup: now")
    try machine.waitForLogind("blocking shutdown: backup: now")
    #expect(try machine.blocks().map(\.who) == ["backup"])
    withExtendedLifetime(hold) {}
  }

  @Test(
    "kill -9 of each party at random moments leaves no lock or mask without a hold",
    arguments: [7])
  func deaths(seed: UInt64) throws {
    let machine = try Container.withLogind()
    var random = SplitMix64(seed: seed)
    for round in 1...20 {
      let hold = try machine.staying("hold", "host.shouldReboot", "--label=hold\(round)", "--why=now")
      let victim =
        ["tribune-logind", "systemd-logind", "tribuned", "tribune-logind"].randomElement(using: &random) ?? ""
      let delay = Double(Int.random(in: 0...200, using: &random)) / 1000
      let run = try machine.property("InvocationID", of: "\(victim).service")
      try machine.does(
        "sh", "-c", "sleep \(delay); systemctl kill --signal=KILL \(victim).service")
      let diesFirst = Bool.random(using: &random)
      if diesFirst { hold.signal(SIGKILL) }
      try machine.waitForStart(of: "\(victim).service", after: run)
      if !diesFirst {
        try machine.waitForLogind("blocking shutdown: hold\(round): now")
        hold.signal(SIGKILL)
      }
      let next = try machine.staying("hold", "host.shouldPowerOff", "--label=next\(round)", "--why=then")
      try machine.waitForLogind("blocking shutdown: next\(round): then")
      #expect(try machine.blocks().map(\.who) == ["next\(round)"], "round \(round): \(victim)")
      next.signal(SIGKILL)
    }
    let last = try machine.staying("hold", "host.shouldSuspend", "--label=last", "--why=then")
    try machine.waitForLogind("masked: suspend.target")
    #expect(try machine.blocks().map(\.who) == ["last"])
    #expect(try machine.masked() == ["suspend.target"])
    last.signal(SIGKILL)
    try machine.does("systemctl", "stop", Container.logindUnit)
    try machine.waitForBlocks([])
    #expect(try machine.masked() == [])
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@Suite("The service under systemd", .timeLimit(.minutes(15)))
struct SystemdServiceTests {
  private static let service = "tribuned.service"
  private static let keeper = "tribuned-keeper.service"

  @Test("the first client starts the bus and its keeper, and only the bus may use the keeper's socket")
  func activation() throws {
    let machine = try Container()
    for unit in [Self.service, Self.keeper] {
      #expect(try machine.property("ActiveState", of: unit) == "inactive")
    }
    #expect(try machine.does("tribunectl", "status").contains("unix:/run/tribune/bus"))
    for unit in [Self.service, Self.keeper] {
      #expect(try machine.property("ActiveState", of: unit) == "active")
    }
    #expect(
      try machine.does("stat", "--format=%U %a", "/run/tribune-keeper", "/run/tribune-keeper/socket")
        == "root 755\ntribune 600")
  }

  @Test("an enabled bus is up before basic.target, and reports that it is ready when it answers")
  func readiness() throws {
    let machine = try Container(enabled: ["tribuned.service", "tribuned.socket"])
    #expect(try machine.property("ActiveState") == "active")
    let up = try machine.number("ActiveEnterTimestampMonotonic")
    let basic = try machine.number("ActiveEnterTimestampMonotonic", of: "basic.target")
    #expect(up <= basic)
    // Runs after the daemon's readiness notification. If the bus does not answer then, the start fails.
    try machine.write(unit: "tribuned.service.d/ask.conf", "[Service]\nExecStartPost=tribunectl status\n")
    try machine.does("systemctl", "restart", "tribuned.service")
    #expect(try machine.property("StatusText").hasPrefix("0 connections, "))
  }

  @Test(
    "bus and keeper run as their user, with the limits of their units",
    arguments: [(service, -900), (keeper, -950)])
  func limits(unit: String, score: Int) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let pid = try machine.property("MainPID", of: unit)
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tribune")
    #expect(try machine.number("LimitNOFILE", of: unit) == 32768)
    #expect(try machine.number("OOMScoreAdjust", of: unit) == score)
    // In some containers, systemd may not raise a limit, and passes its own on.
    let mayRaise = try machine.has(capability: 24)
    #expect(
      try machine.fileLimits(of: pid)
        == Array(repeating: mayRaise ? 32768 : min(32768, machine.fileLimits(of: "1")[1]), count: 2))
    #expect(try machine.does("cat", "/proc/\(pid)/oom_score_adj") == (mayRaise ? "\(score)" : "0"))
  }

  @Test("the socket's folder belongs to root, stays while the service stops, and goes with the socket")
  func folder() throws {
    let machine = try Container()
    func owner() throws -> String {
      try machine.does("stat", "--format=%U %a", "/run/tribune", "/run/tribune/bus")
    }
    let expected = "root 755\nroot 666"
    #expect(try owner() == expected)
    try machine.does("tribunectl", "status")
    #expect(try owner() == expected)
    try machine.does("systemctl", "restart", Self.service)
    #expect(try owner() == expected)
    try machine.does("systemctl", "stop", Self.service)
    #expect(try owner() == expected)
    try machine.does("tribunectl", "status")
    try machine.does("systemctl", "stop", "tribuned.socket")
    #expect(try machine.property("ActiveState") == "inactive")
    #expect(try machine.run("stat", "/run/tribune").status != 0)
    try machine.does("systemctl", "start", "tribuned.socket")
    #expect(try owner() == expected)
  }

  @Test("the socket is removed with its unit, even if its folder is preserved")
  func preservedFolder() throws {
    let machine = try Container(enabled: [])
    try machine.write(unit: "tribuned.socket.d/preserve.conf", "[Socket]\nRuntimeDirectoryPreserve=yes\n")
    try machine.does("systemctl", "start", "tribuned.socket")
    try machine.does("test", "-S", "/run/tribune/bus")
    try machine.does("systemctl", "stop", "tribuned.socket")
    #expect(try machine.does("ls", "-A", "/run/tribune") == "")
  }

  @Test("a client outside of the container starts the bus; a restart of its socket keeps its clients")
  func restartedSocket() throws {
    let machine = try Container()
    let client = try RawClient.observing("disk.*", on: machine)
    let pid = try machine.property("MainPID")
    let socket = try machine.does("stat", "--format=%i", "/run/tribune/bus")
    try machine.does("systemctl", "restart", "tribuned.socket")
    #expect(try machine.does("stat", "--format=%i", "/run/tribune/bus") != socket)
    try machine.does("tribunectl", "post", "disk.didMount")
    #expect(try machine.property("MainPID") != pid)
    #expect(try client.next().name == "disk.didMount")
  }

  @Test("a Varlink client also starts the bus, at a socket that comes and goes with the other")
  func varlink() throws {
    let machine = try Container()
    let folder = machine.path.split(separator: "/").dropLast().joined(separator: "/")
    let client = try VarlinkClient(path: "/\(folder)/io.tribune.Bus")
    #expect(try client.call("Tell", "{\"name\":\"disk.didMount\"}").error == nil)
    #expect(try machine.property("ActiveState") == "active")
    #expect(try machine.does("stat", "--format=%U %a", "/run/tribune/io.tribune.Bus") == "root 666")
    try machine.does("systemctl", "restart", Self.service)
    #expect(try client.call("Tell", "{\"name\":\"disk.didMount\"}").error == nil)
    try machine.does("systemctl", "stop", "tribuned.socket")
    #expect(try machine.property("ActiveState", of: "tribuned-varlink.socket") == "inactive")
    #expect(try machine.run("stat", "/run/tribune").status != 0)
    try machine.does("systemctl", "start", "tribuned.socket")
    #expect(try machine.property("ActiveState", of: "tribuned-varlink.socket") == "active")
  }

  @Test("a reload puts a new configuration into force, unless it has errors")
  func reload() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let pid = try machine.property("MainPID")
    func reload(_ configuration: String, until message: String) throws -> UInt32 {
      try machine.write(configuration, to: "/etc/tribune/tribuned.conf")
      try machine.does("systemctl", "reload", Self.service)
      try machine.waitForMessage(message, of: Self.service)
      return try RawClient(machine).greet().queriesMax
    }
    #expect(try reload("[Bus]\nQueriesMax=7\n", until: "the configuration was read again") == 7)
    #expect(try reload("[Bus]\nQueriesMax=many\n", until: "the old one stays in force") == 7)
    try machine.does("mv", "/etc/tribune", "/etc/away")
    try machine.does("systemctl", "reload", Self.service)
    try machine.waitForMessage("/etc/tribune: error: does not exist", of: Self.service)
    #expect(try RawClient(machine).greet().queriesMax == 7)
    #expect(try machine.property("ActiveState") == "active")
    #expect(try machine.property("MainPID") == pid)
  }

  @Test("a bus with errors in its configuration is restarted until they are corrected")
  func mended() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let run = try machine.property("InvocationID")
    try machine.write("[Bus]\nQueriesMax=many\n", to: "/etc/tribune/tribuned.conf")
    #expect(try machine.run("systemctl", "restart", Self.service).status != 0)
    try machine.waitForMessage("not starting with a configuration that has errors", of: Self.service)
    #expect(try machine.property("ActiveState") == "activating")
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")
    try machine.waitForStart(after: run)
    #expect(try RawClient(machine).greet().queriesMax == 7)
  }

  @Test("a bus that systemd has given up on starts again as OPERATING.md says")
  func givenUp() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    try machine.write(unit: "tribuned.service.d/sooner.conf", "[Unit]\nStartLimitBurst=3\n")
    try machine.write("[Bus]\nQueriesMax=many\n", to: "/etc/tribune/tribuned.conf")
    #expect(try machine.run("systemctl", "restart", Self.service).status != 0)
    try machine.waitForEntry("UNIT=tribuned.socket") {
      $0["UNIT_RESULT"] as? String == "service-start-limit-hit"
    }
    #expect(try machine.run("tribunectl", "status").status != 0)
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")
    let recipe = try #require(
      Script.text(of: "docs/OPERATING.md").firstMatch(of: /Start the bus again with\n\n((?: {4}.*\n)+)/))
    try machine.does("sh", "-e", "-c", String(recipe.1))
    #expect(try RawClient(machine).greet().queriesMax == 7)
    for unit in [Self.service, "tribuned.socket", "tribuned-varlink.socket"] {
      #expect(try machine.property("ActiveState", of: unit) == "active")
    }
  }

  @Test("a bus that starts without journald reports that, and writes its verdicts, once journald is back")
  func withoutJournald() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let journald = [
      "systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket",
    ]
    try machine.does(["systemctl", "stop"] + journald)
    try machine.does("systemctl", "restart", Self.service)
    try machine.does("tribunectl", "ask", "a.shouldStop")
    try machine.does(["systemctl", "start"] + journald)
    try machine.does("tribunectl", "ask", "a.shouldStart")
    try machine.waitForMessage("a.shouldStart: allowed", of: Self.service)
    let said = try machine.does("journalctl", "--output=cat", "_SYSTEMD_UNIT=\(Self.service)")
    #expect(said.contains("journald did not run") && said.contains("a.shouldStop: allowed"), "\(said)")
  }

  @Test("a bus that cannot start a thread reports that, and ends")
  func noThread() throws {
    let machine = try Container()
    let result = try machine.run(
      "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--property=DynamicUser=yes",
      "--property=LimitNPROC=1", "--property=RuntimeMaxSec=30", "tribuned", "--listen=/tmp/bus")
    #expect(result.status == 1)
    #expect(result.errors.contains("no thread can be started"), "\(result.errors)")
  }

  @Test("a bus that crashed or ended is restarted", arguments: ["TERM", "SEGV"])
  func comesBack(signal: String) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let pid = try machine.property("MainPID")
    try machine.restart(by: signal)
    #expect(try machine.property("MainPID") != pid)
    #expect(try machine.number("NRestarts") == 1)
    try RawClient(machine).greet()
  }

  @Test("a bus that is killed again and again is restarted, and its socket stays")
  func comesBackOften() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    for _ in 0..<30 {
      let run = try machine.property("InvocationID")
      try machine.does("kill", "-KILL", try machine.property("MainPID"))
      try RawClient(machine).greet()
      try machine.waitForStart(after: run)
    }
    #expect(try machine.number("NRestarts") == 30)
    #expect(try machine.property("ActiveState", of: "tribuned.socket") == "active")
  }

  @Test("a bus whose event loop hangs is killed and restarted")
  func watchdog() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    #expect(try machine.property("WatchdogUSec") == "20s")
    try machine.write(unit: "tribuned.service.d/sooner.conf", "[Service]\nWatchdogSec=2s\n")
    try machine.does("systemctl", "restart", Self.service)
    let pid = try machine.property("MainPID")
    try machine.restart(by: "STOP")
    #expect(try machine.property("MainPID") != pid)
    try machine.waitForEntry("UNIT=\(Self.service)") { $0["UNIT_RESULT"] as? String == "watchdog" }
    try RawClient(machine).greet()
  }

  private func keptClient(_ machine: Container) throws -> RawClient {
    let (client, welcome) = try RawClient.welcomed(machine)
    try client.observe("disk.*", serial: 1)
    while try client.entry(of: welcome.connection)?.isSurviving != true { try client.settle() }
    return client
  }

  @Test("systemd stores only the log and the lease of the bus", arguments: [false, true])
  func stored(isKilled: Bool) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let client = try keptClient(machine)
    for _ in 0..<3 {
      #expect(try machine.number("NFileDescriptorStore") == 2)
      if isKilled {
        try machine.restart(by: "KILL")
      } else {
        try machine.does("systemctl", "restart", Self.service)
      }
      try client.settle(serial: 2)
    }
  }

  @Test("a bus that is not restarted after its death disconnects its clients")
  func ended() throws {
    let machine = try Container()
    try machine.write(unit: "tribuned.service.d/never.conf", "[Service]\nRestart=no\n")
    let client = try keptClient(machine)
    // Without the lease, the keeper would wait for 30 s.
    try client.setPatience(seconds: 20)
    try machine.does("systemctl", "kill", "--signal=KILL", Self.service)
    _ = try client.readToEnd()
  }

  @Test("clients stay connected during a restart of any length")
  func slowRestart() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    try machine.write(unit: "tribuned.service.d/slow.conf", "[Service]\nRestartSec=35s\n")
    let client = try keptClient(machine)
    try machine.restart(by: "KILL")
    try client.settle(serial: 2)
  }

  @Test("a keeper that hangs is killed and restarted, without an effect on clients")
  func keeperWatchdog() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let client = try keptClient(machine)
    try machine.restart(Self.keeper, by: "STOP")
    try machine.waitForEntry("UNIT=\(Self.keeper)") { $0["UNIT_RESULT"] as? String == "watchdog" }
    // A later kept connection proves that the new keeper has everything.
    _ = try keptClient(machine)
    try machine.does("systemctl", "restart", Self.service)
    try client.settle(serial: 2)
  }
}

extension Container {
  fileprivate func has(capability: Int) throws -> Bool {
    let status = try read("/proc/1/status").split(separator: "\n")
    let set = try #require(status.first { $0.hasPrefix("CapEff:") }).split(separator: "\t")
    return try #require(UInt64(set[1], radix: 16)) >> UInt64(capability) & 1 == 1
  }

  fileprivate func fileLimits(of pid: String) throws -> [Int] {
    try TestBus.descriptorLimits(in: read("/proc/\(pid)/limits"))
  }
}

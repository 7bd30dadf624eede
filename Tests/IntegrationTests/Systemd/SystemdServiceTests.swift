// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// The system's units, as a real systemd runs them.
@Suite("The service under systemd", .timeLimit(.minutes(5)))
struct SystemdServiceTests {
  private static let service = "tribuned.service"
  private static let keeper = "tribuned-keeper.service"

  // MARK: Starting

  @Test("the first client starts it")
  func activation() throws {
    let machine = try Container()
    #expect(try machine.property("ActiveState") == "inactive")
    #expect(try machine.does("tribunectl", "status").contains("unix:/run/tribune/bus"))
    #expect(try machine.property("ActiveState") == "active")
  }

  @Test("a client on the other side of a container's wall starts it, too")
  func activationFromOutside() throws {
    let machine = try Container()
    try RawClient(path: machine.bus).greet()
    #expect(try machine.property("ActiveState") == "active")
  }

  @Test("enabled, it is up before what starts behind basic.target, and says that it is ready when it answers")
  func readiness() throws {
    let machine = try Container(enabled: ["tribuned.service", "tribuned.socket"])
    #expect(try machine.property("ActiveState") == "active")
    let up = try machine.number("ActiveEnterTimestampMonotonic")
    let basic = try machine.number("ActiveEnterTimestampMonotonic", of: "basic.target")
    #expect(up <= basic)
    // Runs when the daemon has said that it is ready, and fails the start if nobody answers.
    try machine.write(unit: "tribuned.service.d/ask.conf", "[Service]\nExecStartPost=tribunectl status\n")
    try machine.does("systemctl", "restart", "tribuned.service")
    #expect(try machine.property("StatusText").hasPrefix("0 connections, "))
  }

  @Test(
    "bus and keeper run as their user, with the limits that the units say",
    arguments: [(service, -900), (keeper, -950)])
  func limits(unit: String, score: Int) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let pid = try machine.property("MainPID", of: unit)
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tribune")
    #expect(try machine.number("LimitNOFILE", of: unit) == 32768)
    #expect(try machine.number("OOMScoreAdjust", of: unit) == score)
    // A systemd that may not raise a limit, as in some containers, gives as much as it has.
    let mayRaise = try machine.has(capability: 24)
    #expect(
      try machine.fileLimits(of: pid)
        == Array(repeating: mayRaise ? 32768 : min(32768, machine.fileLimits(of: "1")[1]), count: 2))
    #expect(try machine.does("cat", "/proc/\(pid)/oom_score_adj") == (mayRaise ? "\(score)" : "0"))
  }

  @Test("the running services are exposed to no more than 0.8 of 10", arguments: [service, keeper])
  func security(unit: String) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    try machine.does("systemd-analyze", "security", "--no-pager", "--threshold=8", unit)
  }

  // MARK: The socket

  @Test("the folder of the socket is root's, stays while the service stops, and goes with the socket")
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
    // It is started by the next client, through the same socket.
    try machine.does("tribunectl", "status")
    try machine.does("systemctl", "stop", "tribuned.socket")
    #expect(try machine.property("ActiveState") == "inactive")
    #expect(try machine.run("stat", "/run/tribune").status != 0)
    try machine.does("systemctl", "start", "tribuned.socket")
    #expect(try owner() == expected)
  }

  @Test("the socket goes with its unit even where its folder is to stay")
  func preservedFolder() throws {
    let machine = try Container(enabled: [])
    try machine.write(
      unit: "tribuned.socket.d/preserve.conf", "[Socket]\nRuntimeDirectoryPreserve=yes\n")
    try machine.does("systemctl", "start", "tribuned.socket")
    try machine.does("test", "-S", "/run/tribune/bus")
    try machine.does("systemctl", "stop", "tribuned.socket")
    #expect(try machine.does("ls", "-A", "/run/tribune") == "")
  }

  @Test("restarted by the name of its socket, it listens at a new one, and keeps its clients")
  func restartedSocket() throws {
    let machine = try Container()
    let client = try RawClient(path: machine.bus)
    try client.greet()
    try client.observe("disk.*", serial: 1)
    let pid = try machine.property("MainPID")
    let socket = try machine.does("stat", "--format=%i", "/run/tribune/bus")
    try machine.does("systemctl", "restart", "tribuned.socket")
    #expect(try machine.does("stat", "--format=%i", "/run/tribune/bus") != socket)
    // Through the new one.
    try machine.does("tribunectl", "post", "disk.didMount")
    #expect(try machine.property("MainPID") != pid)
    #expect(try client.next().name == "disk.didMount")
  }

  // MARK: Reloading

  @Test("a reload takes the new configuration over, and one with errors leaves the old one in force")
  func reload() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let pid = try machine.property("MainPID")
    func reload(_ configuration: String, until message: String) throws -> UInt32 {
      try machine.write(configuration, to: "/etc/tribune/tribuned.conf")
      try machine.does("systemctl", "reload", Self.service)
      try machine.waitForEntry("_SYSTEMD_UNIT=\(Self.service)") {
        ($0["MESSAGE"] as? String)?.contains(message) == true
      }
      return try RawClient(path: machine.bus).greet().queriesMax
    }
    #expect(try reload("[Bus]\nQueriesMax=7\n", until: "the configuration was read again") == 7)
    #expect(try reload("[Bus]\nQueriesMax=many\n", until: "the old one stays in force") == 7)
    #expect(try machine.property("ActiveState") == "active")
    #expect(try machine.property("MainPID") == pid)
  }

  @Test("one that cannot start for its configuration is tried again, and is up when that is mended")
  func mended() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let run = try machine.property("InvocationID")
    try machine.write("[Bus]\nQueriesMax=many\n", to: "/etc/tribune/tribuned.conf")
    #expect(try machine.run("systemctl", "restart", Self.service).status != 0)
    try machine.waitForEntry("_SYSTEMD_UNIT=\(Self.service)") {
      ($0["MESSAGE"] as? String)?.contains("not starting with a configuration that has errors") == true
    }
    #expect(try machine.property("ActiveState") == "activating")
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")
    try machine.waitForStart(after: run)
    #expect(try RawClient(path: machine.bus).greet().queriesMax == 7)
  }

  @Test("one that can have no thread says so, and ends")
  func noThread() throws {
    let machine = try Container()
    let result = try machine.run(
      "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--property=DynamicUser=yes",
      "--property=LimitNPROC=1", "--property=RuntimeMaxSec=30", "tribuned", "--listen=/tmp/bus")
    #expect(result.status == 1)
    #expect(result.errors.contains("cannot start a thread"), "\(result.errors)")
  }

  // MARK: Coming back

  @Test("killed or ended, it comes back", arguments: ["KILL", "TERM", "SEGV"])
  func comesBack(signal: String) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let run = try machine.property("InvocationID")
    let pid = try machine.property("MainPID")
    try machine.does("kill", "-\(signal)", pid)
    try machine.waitForStart(after: run)
    #expect(try machine.property("MainPID") != pid)
    #expect(try machine.number("NRestarts") == 1)
    try RawClient(path: machine.bus).greet()
  }

  @Test("killed again and again, it comes back, and its socket stays")
  func comesBackOften() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    for _ in 0..<30 {
      let run = try machine.property("InvocationID")
      try machine.does("kill", "-KILL", try machine.property("MainPID"))
      // One that waits for it triggers the socket, as clients do.
      try RawClient(path: machine.bus).greet()
      try machine.waitForStart(after: run)
    }
    #expect(try machine.number("NRestarts") == 30)
    #expect(try machine.property("ActiveState", of: "tribuned.socket") == "active")
  }

  @Test("only \"systemctl stop\" stops it")
  func stops() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    try machine.does("systemctl", "stop", Self.service)
    #expect(try machine.property("ActiveState") == "inactive")
    #expect(try machine.property("Result") == "success")
  }

  @Test("one whose run loop stands still is replaced")
  func watchdog() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    #expect(try machine.property("WatchdogUSec") == "20s")
    try machine.write(unit: "tribuned.service.d/sooner.conf", "[Service]\nWatchdogSec=2s\n")
    try machine.does("systemctl", "restart", Self.service)
    let run = try machine.property("InvocationID")
    let pid = try machine.property("MainPID")
    try machine.does("kill", "-STOP", pid)
    try machine.waitForStart(after: run)
    #expect(try machine.property("MainPID") != pid)
    try machine.waitForEntry("UNIT=\(Self.service)") { $0["UNIT_RESULT"] as? String == "watchdog" }
    try RawClient(path: machine.bus).greet()
  }

  // MARK: The keeper

  /// A client that has registered something, and is known to be kept.
  private func keptClient(_ machine: Container) throws -> RawClient {
    let client = try RawClient(path: machine.bus)
    let id = try client.greet().connection
    try client.observe("disk.*", serial: 1)
    while try client.entry(of: id)?.isSurviving != true { try client.settle() }
    return client
  }

  @Test("the keeper starts with the bus, and its socket is the bus's alone")
  func keeperStarts() throws {
    let machine = try Container()
    #expect(try machine.property("ActiveState", of: Self.keeper) == "inactive")
    try machine.does("tribunectl", "status")
    #expect(try machine.property("ActiveState", of: Self.keeper) == "active")
    #expect(
      try machine.does("stat", "--format=%U %a", "/run/tribune-keeper", "/run/tribune-keeper/socket")
        == "root 755\ntribune 600")
  }

  @Test("systemd keeps the log and the lease of the bus, and nothing else", arguments: ["restart", "kill"])
  func stored(way: String) throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let client = try keptClient(machine)
    for _ in 0..<3 {
      #expect(try machine.number("NFileDescriptorStore") == 2)
      let run = try machine.property("InvocationID")
      if way == "kill" {
        try machine.does("systemctl", "kill", "--signal=KILL", Self.service)
        try machine.waitForStart(after: run)
      } else {
        try machine.does("systemctl", "restart", Self.service)
      }
      try client.settle(serial: 2)
    }
  }

  @Test("where no restart follows the death of the bus, its clients see the end")
  func ended() throws {
    let machine = try Container()
    try machine.write(unit: "tribuned.service.d/never.conf", "[Service]\nRestart=no\n")
    let client = try keptClient(machine)
    // Without the lease, the keeper would wait for 30 s.
    try client.setPatience(seconds: 20)
    try machine.does("systemctl", "kill", "--signal=KILL", Self.service)
    _ = try client.readToEnd()
  }

  @Test("however long a restart takes, clients stay connected")
  func slowRestart() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    // Without the lease, the keeper would wait for 30 s.
    try machine.write(unit: "tribuned.service.d/slow.conf", "[Service]\nRestartSec=35s\n")
    let client = try keptClient(machine)
    let run = try machine.property("InvocationID")
    try machine.does("systemctl", "kill", "--signal=KILL", Self.service)
    try machine.waitForStart(after: run)
    try client.settle(serial: 2)
  }

  @Test("a keeper that hangs is replaced, and nobody notices")
  func keeperWatchdog() throws {
    let machine = try Container(enabled: ["tribuned.service"])
    let client = try keptClient(machine)
    let run = try machine.property("InvocationID", of: Self.keeper)
    try machine.does("systemctl", "kill", "--signal=STOP", Self.keeper)
    try machine.waitForStart(of: Self.keeper, after: run)
    try machine.waitForEntry("UNIT=\(Self.keeper)") { $0["UNIT_RESULT"] as? String == "watchdog" }
    // It has everything again.
    _ = try keptClient(machine)
    try machine.does("systemctl", "restart", Self.service)
    try client.settle(serial: 2)
  }
}

extension Container {
  /// Whether its systemd has a capability, by its number in capabilities(7)'s header.
  fileprivate func has(capability: Int) throws -> Bool {
    let status = try read("/proc/1/status").split(separator: "\n")
    let set = try #require(status.first { $0.hasPrefix("CapEff:") }).split(separator: "\t")
    return try #require(UInt64(set[1], radix: 16)) >> UInt64(capability) & 1 == 1
  }

  /// The soft and the hard limit of open descriptors.
  fileprivate func fileLimits(of pid: String) throws -> [Int] {
    let limits = try read("/proc/\(pid)/limits").split(separator: "\n")
    let files = try #require(limits.first { $0.hasPrefix("Max open files") })
    return files.split(separator: " ").compactMap { Int($0) }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

@Suite("The package under systemd", .timeLimit(.minutes(15)))
struct SystemdPackageTests {
  private var machine: Container

  init() throws { machine = try Self.machine(.own) }

  private static func machine(_ release: Container.Release) throws -> Container {
    let machine = try Container(release, enabled: [], hasTribune: false)
    try machine.copyPackages(to: "/root")
    return machine
  }

  private func install(_ package: String) throws {
    try machine.does("dpkg", "--install", "/root/\(package).deb")
  }

  private func version(of package: String) throws -> String {
    try machine.does("dpkg-deb", "--field", "/root/\(package).deb", "Version")
  }

  private var installedVersion: String {
    get throws { try machine.does("dpkg-query", "--show", "--showformat=${Version}", "tribune") }
  }

  private func state(of unit: String) throws -> [String] {
    try [machine.property("ActiveState", of: unit), machine.run("systemctl", "is-enabled", unit).output]
      .map { $0.trimmingCharacters(in: .newlines) }
  }

  /// Enables a delegate that is a file, and vetoes.
  private func enableDelegate(of name: String) throws {
    try machine.write(
      "#!/bin/sh\necho 'not yet'\nexit 1\n", to: "/etc/tribune/delegates.d/\(name)/10-test", mode: 0o755)
    try machine.does("systemctl", "enable", "--now", Self.delegatesUnit)
  }

  private static let delegatesUnit = "tribune-delegates.service"

  private func connections() throws -> Set<String> {
    let lines = try machine.does("tribunectl", "-j", "list").split(separator: "\n")
    return try Set(
      lines.map { line in
        let object = try jsonObject(line)
        return try #require(object["connection"].map { "\($0)" })
      })
  }

  @Test("installs a bus that starts with its first client, tribune-logind, and at each boot")
  func installs() throws {
    #expect(try machine.run("getent", "passwd", "tribune").status != 0)
    // All its dependencies must be installed already.
    try machine.does("apt-get", "--quiet", "--yes", "install", "/root/older.deb")
    #expect(try installedVersion == version(of: "older"))
    #expect(try machine.does("getent", "passwd", "tribune").hasSuffix(":/usr/sbin/nologin"))
    #expect(try state(of: "tribuned.socket") == ["active", "enabled"])
    #expect(try state(of: "tribuned.service") == ["active", "enabled"])
    #expect(try state(of: "tribune-logind.service") == ["active", "enabled"])
    for unit in ["tribune-delegates.service", "tribune-web.socket"] {
      #expect(try state(of: unit) == ["inactive", "disabled"])
    }

    #expect(try machine.does("tribunectl", "status").contains("unix:/run/tribune/bus"))
    #expect(try machine.property("ActiveState") == "active")
    #expect(try state(of: "tribuned-keeper.service") == ["active", "static"])
    let pid = try machine.property("MainPID")
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tribune")
    #expect(try machine.does("journalctl", "--list-catalog").contains("Tribune: Whether"))

    #expect(try machine.does("dpkg", "--verify", "tribune") == "")
  }

  @Test("the bus also installs on a newer release, whose libnats has another name")
  func newerRelease() throws {
    let machine = try Self.machine(.newer)
    try machine.does("apt-get", "--quiet", "--yes", "install", "/root/older.deb")
    #expect(try machine.does("tribunectl", "status").contains("unix:/run/tribune/bus"))
    #expect(try machine.run("dpkg", "--install", "/root/older-gateway.deb").status != 0)
  }

  @Test("the gateway's package has its units, is upgraded with the bus, and leaves nothing when purged")
  mutating func gateway() throws {
    machine = try Self.machine(.ofGateway)
    let units = ["tribune-nats.service", "tribune-fleetlock.socket"]
    try machine.does("apt-get", "--quiet", "--yes", "install", "/root/older.deb", "/root/older-gateway.deb")
    for unit in units { #expect(try state(of: unit) == ["inactive", "disabled"]) }
    try machine.does("systemctl", "start", "tribune-fleetlock.socket")
    try machine.does("apt-get", "--quiet", "--yes", "install", "/root/newer.deb", "/root/newer-gateway.deb")
    #expect(try machine.property("ActiveState", of: "tribune-fleetlock.socket") == "active")
    #expect(try policies() == Self.installedPolicies + ["70-nats.policy"])
    try machine.does("mkdir", "--parents", "/var/lib/tribune-nats")
    try machine.does("dpkg", "--purge", "tribune-nats")
    for unit in units { #expect(try machine.property("LoadState", of: unit) == "not-found") }
    #expect(try machine.run("ls", "/var/lib/tribune-nats", "/etc/tribune/nats.conf").output == "")
    #expect(try policies() == Self.installedPolicies)
  }

  @Test("the packages of the clients, and the wheel, contain everything that programs need")
  func clients() throws {
    try machine.does("sh", "-c", "apt-get --quiet --yes install /root/older.deb /root/clients/*.deb")
    try machine.does(
      "sh", "-c", "python3 -m venv /root/venv && /root/venv/bin/pip install --no-index /root/clients/*.whl")
    try machine.write(TourProgram.delegate.text(in: .python), to: "/root/delegate.py")
    try machine.write(TourProgram.delegate.text(in: .c), to: "/root/delegate.c")
    try machine.does(
      "sh", "-c", "tcc -o /root/delegate /root/delegate.c $(pkg-config --cflags --libs tribune)")
    for program in [
      ["/usr/bin/python3", "/root/delegate.py"], ["/root/venv/bin/python", "/root/delegate.py"],
      ["/root/delegate"],
    ] {
      try machine.does(["systemd-run", "--unit=delegate"] + program)
      let end = ContinuousClock.now + .seconds(Programs.patienceSeconds)
      var verdict = try machine.run("tribunectl", "ask", "host.shouldReboot")
      while verdict.status == 0, ContinuousClock.now < end {
        verdict = try machine.run("tribunectl", "ask", "host.shouldReboot")
      }
      #expect(verdict.status == 1 && verdict.output.contains("the nightly backup is at 40 %"), "\(program)")
      try machine.does("systemctl", "stop", "delegate.service")
    }
    try machine.does("dpkg", "--verify", "python3-tribune", "libtribune0", "libtribune-dev")
  }

  @Test(
    "is upgraded and downgraded with a new daemon, without an effect on clients",
    arguments: [["older", "newer"], ["newer", "older"]])
  func keeps(packages: [String]) throws {
    try install(packages[0])
    let observer = try machine.staying("--reconnect=0", "observe", "package.*", "-j")
    let delegate = try machine.staying("--reconnect=0", "delegate", "package.shouldLeave", "--veto=not now")
    let hold = try machine.staying("--reconnect=0", "hold", "package.shouldStart", "--why=the disk is full")
    let between = "/run/systemd/between"
    try machine.write(
      unit: "tribune-logind.service.d/between.conf",
      "[Service]\nExecStartPre=/bin/sh -c 'find /run/systemd/system* -lname /dev/null >\(between)'\n")
    let reboot = try machine.staying("--reconnect=0", "hold", "host.shouldReboot", "--why=a backup runs")
    let masked = try machine.masked()
    #expect(masked.contains("reboot.target"))
    try enableDelegate(of: "package.shouldStay")
    let outside = try (0..<3).map { _ in try RawClient.greeted(machine) }
    try outside[0].observe("package.*", serial: 1)
    try outside[1].attach(Attach(patterns: ["package.shouldMove"]), serial: 1)
    try outside[2].send(Ask(deadline: 60_000), serial: 7, name: "package.shouldMove")
    let question = try outside[1].nextQuestion().question
    let before = try connections()
    let pid = try machine.property("MainPID")
    let keeper = try machine.property("MainPID", of: "tribuned-keeper.service")

    try install(packages[1])

    #expect(try installedVersion == version(of: packages[1]))
    #expect(try machine.property("MainPID") != pid)
    #expect(try machine.property("MainPID", of: "tribuned-keeper.service") == keeper)
    #expect(try machine.property("ActiveState") == "active")
    #expect(try machine.number("NRestarts") == 0)
    #expect(try connections().intersection(before).count == 7)
    #expect(try machine.read(between).split(separator: "\n").count == masked.count)
    #expect(try machine.masked() == masked)
    try outside[1].answer(question, .veto, "it is in use")
    let verdict = try outside[2].next()
    #expect(verdict.header.serial == 7)
    #expect(try verdict.decode(Verdict.self).verdict == .vetoed)
    for (name, reason) in [
      ("package.shouldStart", "the disk is full"), ("package.shouldLeave", "not now"),
      ("package.shouldStay", "not yet"),
    ] {
      let asked = try machine.run("tribunectl", "ask", name)
      #expect(asked.status == 1)
      #expect(asked.output.contains(reason), "\(asked.output)")
    }
    try machine.does("tribunectl", "post", "package.didMove")
    #expect(try outside[0].next().name == "package.didMove")
    #expect(try observer.output.line()?.contains("\"package.didMove\"") == true)
    withExtendedLifetime((delegate, hold, reboot)) {}
  }

  @Test("an upgrade despite errors in the configuration does not wait until the bus is given up")
  func misconfigured() throws {
    try install("older")
    try machine.does("systemctl", "start", "tribuned.service")
    try enableDelegate(of: "package.shouldStay")
    let run = try machine.property("InvocationID")
    let delegates = try machine.property("InvocationID", of: Self.delegatesUnit)
    try machine.write("[Bus]\nQueriesMax=many\n", to: "/etc/tribune/tribuned.conf.d/test.conf")
    try install("newer")
    #expect(try machine.property("ActiveState") == "activating")
    // The delegates' restart has not ended yet.
    #expect(try machine.property("Job", of: Self.delegatesUnit) != "")
    #expect(try machine.number("NRestarts", of: Self.delegatesUnit) == 0)
    #expect(try machine.property("ActiveState", of: Container.logindUnit) == "active")
    let pid = try machine.property("MainPID", of: Container.logindUnit)
    let said = try machine.does("journalctl", "--output=cat", "_PID=\(pid)")
    #expect(said.contains("connected to logind") && !said.contains("connected to the bus"), "\(said)")
    try machine.does("rm", "/etc/tribune/tribuned.conf.d/test.conf")
    try machine.waitForStart(after: run)
    try machine.waitForEntry("_PID=\(pid)") { $0["MESSAGE"] as? String == "connected to the bus" }
    try machine.waitForStart(of: Self.delegatesUnit, after: delegates)
  }

  @Test("the enabled page sees all of the bus, and continues over an upgrade")
  func page() throws {
    func health() throws -> String {
      let script =
        "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9790/healthz').read().decode())"
      return try machine.does("python3", "-c", script).trimmingCharacters(in: .newlines)
    }
    try install("older")
    try machine.does("systemctl", "enable", "--now", "tribune-web.socket")
    // A request would also start it, and could be answered before it has reached the bus.
    try machine.does("systemctl", "start", "tribune-web.service")
    #expect(try health() == "ok")
    let pid = try machine.property("MainPID", of: "tribune-web.service")
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tribune-web")
    #expect(try !machine.does("journalctl", "-u", "tribune-web").contains("does not let"))

    try install("newer")
    #expect(try state(of: "tribune-web.socket") == ["active", "enabled"])
    #expect(try machine.property("MainPID", of: "tribune-web.service") != pid)
    #expect(try health() == "ok")
  }

  @Test("does not change stopped or disabled units, or a changed configuration")
  func choices() throws {
    try install("older")
    let units = ["tribuned.socket", "tribuned.service"]
    try machine.does(["systemctl", "disable", "--now"] + units)
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")
    try install("newer")
    for unit in units { #expect(try state(of: unit) == ["inactive", "disabled"]) }
    #expect(try state(of: "tribune-logind.service") == ["inactive", "enabled"])
    #expect(try machine.read("/etc/tribune/tribuned.conf") == "[Bus]\nQueriesMax=7\n")
    try machine.does(["systemctl", "enable", "--now"] + units)
    #expect(try RawClient(machine).greet().queriesMax == 7)
  }

  @Test("upgrades users' buses with their connections, and starts none")
  func users() throws {
    try install("older")
    let (first, second) = (try machine.addUser("first"), try machine.addUser("second"))
    try machine.does(as: "first", first, "systemctl", "--user", "enable", "--now", "tribuned.socket")
    let hold = try machine.start(
      as: "first", first, "tribunectl", "--reconnect=0", "hold", "disk.shouldPrune",
      "--why=a restore is running")
    #expect(try hold.errors.line()?.hasPrefix("holding ") == true)
    let pid = try machine.property("MainPID", ofBusOf: "first", first)

    try install("newer")

    #expect(try machine.property("MainPID", ofBusOf: "first", first) != pid)
    #expect(try machine.property("ActiveState", ofBusOf: "first", first) == "active")
    let holds = try machine.does(as: "first", first, "tribunectl", "holds")
    #expect(holds.contains("a restore is running"))
    #expect(try machine.property("ActiveState", ofBusOf: "second", second) == "inactive")

    try machine.does("dpkg", "--remove", "tribune")
    #expect(try hold.errors.rest().contains("the bus is stopping"))
    for folder in ["tribune", "tribune-keeper"] {
      #expect(try machine.run("stat", "/run/user/\(first)/\(folder)").status != 0)
    }
  }

  private static let policies = "/etc/tribune/policy.d"
  private static let installedPolicies: [Substring] = ["50-default.policy", "60-web.policy"]

  private func policies() throws -> [Substring] {
    try machine.does("ls", "-A", Self.policies).split(separator: "\n")
  }

  private func postOfNobody() throws -> CInt {
    try machine.run("runuser", "-u", "nobody", "--", "tribunectl", "post", "package.didMove").status
  }

  @Test("installs a policy that allows other users little")
  func policyOfInstallation() throws {
    try install("older")
    #expect(try policies() == Self.installedPolicies)
    #expect(try postOfNobody() == 1)
    try machine.does("tribunectl", "post", "package.didMove")
    try machine.does("rm", "\(Self.policies)/50-default.policy")
    try install("newer")
    #expect(try policies() == Array(Self.installedPolicies.dropFirst()))
  }

  @Test("leaves only its configuration when removed, and only its user when purged")
  func removes() throws {
    // At midnight, dpkg saves its database.
    try machine.does("systemctl", "stop", "dpkg-db-backup.timer")
    func files() throws -> Set<Substring> {
      Set(
        try machine.does("find", "/", "-xdev", "-path", "/var/log", "-prune", "-o", "-print")
          .split(separator: "\n"))
    }
    let before = try files()
    #expect(before.contains("/root/older.deb"))
    try install("older")
    try machine.does("systemctl", "enable", "--now", "tribune-delegates.service", "tribune-web.socket")
    try machine.does("systemctl", "start", "tribune-web.service")
    try machine.does("systemctl", "--global", "enable", "tribuned.socket")
    let inside = try machine.staying("--reconnect=0", "observe", "package.*")
    let outside = try RawClient.greeted(machine)
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")

    try machine.does("dpkg", "--remove", "tribune")
    _ = try outside.readToEnd()
    #expect(try inside.errors.rest().contains("the bus is stopping"))
    for unit in [
      "tribuned.socket", "tribuned.service", "tribuned-keeper.socket", "tribuned-keeper.service",
      "tribune-delegates.service", "tribune-web.socket", "tribune-web.service",
    ] {
      #expect(try machine.property("LoadState", of: unit) == "not-found")
      #expect(try machine.property("ActiveState", of: unit) == "inactive")
    }
    #expect(try machine.does("find", "/run", "-name", "tribun*") == "")
    #expect(try machine.run("pgrep", "tribun").status == 1)

    try install("newer")
    #expect(try RawClient(machine).greet().queriesMax == 7)

    try machine.does("dpkg", "--purge", "tribune")
    let after = try files()
    #expect(after.subtracting(before).sorted() == [])
    #expect(before.subtracting(after).sorted() == [])
    // The user stays: another user with its uid would own its files.
    try machine.does("getent", "passwd", "tribune")
    #expect(try !machine.does("journalctl", "--list-catalog").contains("Tribune"))

    try install("older")
    try RawClient(machine).greet()
  }
}

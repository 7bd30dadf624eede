// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneWire

/// The Debian package on a machine that has nothing of Tribune: there, upgraded under its clients, and gone.
@Suite("The package under systemd", .timeLimit(.minutes(5)))
struct SystemdPackageTests {
  private let machine: Container

  init() throws {
    machine = try Container(enabled: [], hasTribune: false)
    try machine.copyPackages(to: "/root")
  }

  /// - Parameter package: `older` or `newer`.
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

  /// A verb that stays, does not look for a bus that is gone, and is ready.
  private func staying(_ command: String...) throws -> RunningProgram {
    let program = try machine.start("tribunectl", ["--reconnect=0"] + command)
    let line = try #require(try program.errors.line())
    try #require(["holding ", "observing ", "attached "].contains { line.hasPrefix($0) }, "\(line)")
    return program
  }

  /// The connections of the system's bus, but for that of whoever asks.
  private func connections() throws -> Set<String> {
    let lines = try machine.does("tribunectl", "-j", "list").split(separator: "\n")
    return try Set(
      lines.map { line in
        let object = try jsonObject(line)
        return try #require(object["connection"].map { "\($0)" })
      })
  }

  // MARK: Installing

  @Test("once installed, the bus is there for its first client, and at each boot")
  func installs() throws {
    #expect(try machine.run("getent", "passwd", "tribune").status != 0)
    // Whatever it depends on has to be there, and is asked for by name.
    try machine.does("apt-get", "--quiet", "--yes", "install", "/root/older.deb")
    #expect(try installedVersion == version(of: "older"))
    #expect(try machine.does("getent", "passwd", "tribune").hasSuffix(":/usr/sbin/nologin"))
    #expect(try state(of: "tribuned.socket") == ["active", "enabled"])
    #expect(try state(of: "tribuned.service") == ["inactive", "enabled"])
    #expect(try state(of: "tribune-delegates.service") == ["inactive", "disabled"])
    #expect(try state(of: "tribuned-keeper.service") == ["inactive", "static"])

    #expect(try machine.does("tribunectl", "status").contains("unix:/run/tribune/bus"))
    #expect(try machine.property("ActiveState") == "active")
    #expect(try state(of: "tribuned-keeper.service") == ["active", "static"])
    let pid = try machine.property("MainPID")
    #expect(try machine.does("stat", "--format=%U", "/proc/\(pid)") == "tribune")
    #expect(try machine.does("journalctl", "--list-catalog").contains("Tribune: Whether"))

    // All of it is there, as it was packed.
    #expect(try machine.does("dpkg", "--verify", "tribune") == "")
    for file in [
      "man/man1/tribunectl.1.gz", "man/man5/tribuned.conf.5.gz", "man/man8/tribuned.8.gz",
      "bash-completion/completions/tribunectl", "zsh/vendor-completions/_tribunectl",
      "fish/vendor_completions.d/tribunectl.fish", "doc/tribune/examples/molly-guard/40-tribune",
    ] { try machine.does("test", "-s", "/usr/share/\(file)") }
  }

  // MARK: Upgrading

  @Test(
    "to a newer version and back to an older: a new daemon, and no client notices",
    arguments: [["older", "newer"], ["newer", "older"]])
  func keeps(packages: [String]) throws {
    try install(packages[0])
    // On both sides of the wall: who observes, who is asked, who holds.
    let observer = try staying("observe", "package.*", "-j")
    let delegate = try staying("delegate", "package.shouldLeave", "--veto=not now")
    let hold = try staying("hold", "package.shouldStart", "--why=the disk is full")
    let outside = try (0..<3).map { _ in try RawClient(path: machine.bus) }
    for client in outside { try client.greet() }
    try outside[0].observe("package.*", serial: 1)
    try outside[1].attach(Attach(patterns: ["package.shouldMove"]), serial: 1)
    // A question that waits for its answer.
    try outside[2].send(Ask(deadline: 60_000), serial: 7, name: "package.shouldMove")
    let question = try outside[1].nextQuestion().question
    let before = try connections()
    let pid = try machine.property("MainPID")
    let keeper = try machine.property("MainPID", of: "tribuned-keeper.service")

    try install(packages[1])

    #expect(try installedVersion == version(of: packages[1]))
    #expect(try machine.property("MainPID") != pid)
    // It has what the restart is not to lose.
    #expect(try machine.property("MainPID", of: "tribuned-keeper.service") == keeper)
    #expect(try machine.property("ActiveState") == "active")
    #expect(try machine.number("NRestarts") == 0)
    // But for those that asked for the list.
    #expect(try connections().intersection(before).count == 6)
    try outside[1].answer(question, .veto, "it is in use")
    let verdict = try outside[2].next()
    #expect(verdict.header.serial == 7)
    #expect(try verdict.decode(Verdict.self).verdict == .vetoed)
    for (name, reason) in [("package.shouldStart", "the disk is full"), ("package.shouldLeave", "not now")] {
      let asked = try machine.run("tribunectl", "ask", name)
      #expect(asked.status == 1)
      #expect(asked.output.contains(reason), "\(asked.output)")
    }
    try machine.does("tribunectl", "post", "package.didMove")
    #expect(try outside[0].next().name == "package.didMove")
    #expect(try observer.output.line()?.contains("\"package.didMove\"") == true)
    withExtendedLifetime((delegate, hold)) {}
  }

  @Test("what the administrator has stopped and disabled stays so, and what was changed stays changed")
  func choices() throws {
    try install("older")
    let units = ["tribuned.socket", "tribuned.service"]
    try machine.does(["systemctl", "disable", "--now"] + units)
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")
    try install("newer")
    for unit in units { #expect(try state(of: unit) == ["inactive", "disabled"]) }
    #expect(try machine.read("/etc/tribune/tribuned.conf") == "[Bus]\nQueriesMax=7\n")
    try machine.does(["systemctl", "enable", "--now"] + units)
    #expect(try RawClient(path: machine.bus).greet().queriesMax == 7)
  }

  @Test("users' buses are upgraded with their connections, and none is started")
  func users() throws {
    try install("older")
    var uids: [String] = []
    for user in ["first", "second"] {
      try machine.does("useradd", "--create-home", user)
      try machine.does("loginctl", "enable-linger", user)
      let uid = try machine.does("id", "--user", user)
      try machine.does("systemctl", "start", "user@\(uid).service")
      uids.append(uid)
    }
    func service(_ property: String, of uid: String) throws -> String {
      try machine.does(
        "systemctl", "--user", "--machine=\(uid)@", "show", "--value", "--property=\(property)",
        "tribuned.service")
    }
    try machine.does("systemctl", "--user", "--machine=\(uids[0])@", "enable", "--now", "tribuned.socket")
    let hold = try machine.start(
      as: "first", uids[0], "tribunectl", "--reconnect=0", "hold", "disk.shouldPrune",
      "--why=a restore is running")
    #expect(try hold.errors.line()?.hasPrefix("holding ") == true)
    let pid = try service("MainPID", of: uids[0])

    try install("newer")

    #expect(try service("MainPID", of: uids[0]) != pid)
    #expect(try service("ActiveState", of: uids[0]) == "active")
    let holds = try machine.does(
      "runuser", "-u", "first", "--", "env", "XDG_RUNTIME_DIR=/run/user/\(uids[0])", "tribunectl", "holds")
    #expect(holds.contains("a restore is running"))
    #expect(try service("ActiveState", of: uids[1]) == "inactive")

    try machine.does("dpkg", "--remove", "tribune")
    #expect(try hold.errors.rest().contains("the bus is stopping"))
    for folder in ["tribune", "tribune-keeper"] {
      #expect(try machine.run("stat", "/run/user/\(uids[0])/\(folder)").status != 0)
    }
  }

  // MARK: Removing

  @Test(
    "removed, it ends with its clients and leaves its configuration; purged, it leaves nothing but its user")
  func removes() throws {
    /// What is on the disk, beside logs.
    func files() throws -> Set<Substring> {
      Set(
        try machine.does("find", "/", "-xdev", "-path", "/var/log", "-prune", "-o", "-print")
          .split(separator: "\n"))
    }
    let before = try files()
    #expect(before.contains("/root/older.deb"))
    try install("older")
    try machine.does("systemctl", "enable", "--now", "tribune-delegates.service")
    try machine.does("systemctl", "--global", "enable", "tribuned.socket")
    let inside = try staying("observe", "package.*")
    let outside = try RawClient(path: machine.bus)
    try outside.greet()
    try machine.write("[Bus]\nQueriesMax=7\n", to: "/etc/tribune/tribuned.conf")

    try machine.does("dpkg", "--remove", "tribune")
    _ = try outside.readToEnd()
    #expect(try inside.errors.rest().contains("the bus is stopping"))
    for unit in [
      "tribuned.socket", "tribuned.service", "tribuned-keeper.socket", "tribuned-keeper.service",
      "tribune-delegates.service",
    ] {
      #expect(try machine.property("LoadState", of: unit) == "not-found")
      #expect(try machine.property("ActiveState", of: unit) == "inactive")
    }
    #expect(try machine.does("find", "/run", "-name", "tribun*") == "")
    #expect(try machine.run("pgrep", "tribun").status == 1)

    // Who installs it again has what was configured.
    try install("newer")
    #expect(try RawClient(path: machine.bus).greet().queriesMax == 7)

    try machine.does("dpkg", "--purge", "tribune")
    let after = try files()
    #expect(after.subtracting(before).sorted() == [])
    #expect(before.subtracting(after).sorted() == [])
    // Files of it may be anywhere, and nobody else is to get them.
    try machine.does("getent", "passwd", "tribune")
    #expect(try !machine.does("journalctl", "--list-catalog").contains("Tribune"))

    try install("older")
    try RawClient(path: machine.bus).greet()
  }
}

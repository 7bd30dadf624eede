// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneServer
import TribuneTestSupport

struct SystemdRun {
  let status: Int32
  let output: String

  /// Waits for a minute at most. Throws `Missing` if the program is not installed.
  init(_ program: String, _ arguments: [String], in folder: TemporaryFolder) throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)") else {
      throw Missing(program: program)
    }
    try folder.write("output", "")
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path + "/output"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
    process.arguments = ["60", "/usr/bin/\(program)"] + arguments
    // A user's manager needs a runtime folder.
    process.environment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": folder.path]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    try output.close()
    status = process.terminationStatus
    self.output = try String(contentsOfFile: folder.path + "/output", encoding: .utf8)
  }

  struct Missing: Error, CustomStringConvertible {
    let program: String
    var description: String { "/usr/bin/\(program) is missing: this test needs the package systemd" }
  }
}

@Suite("The unit files", .timeLimit(.minutes(15)))
struct UnitFilesTests {
  private let folder: TemporaryFolder

  private static let units = [
    "tribuned.service", "tribuned.socket", "tribuned-varlink.socket", "tribuned-keeper.service",
    "tribuned-keeper.socket", "tribune-delegates.service", "tribune-logind.service", "tribune-web.service",
    "tribune-web.socket", "tribune-nats.service", "tribune-fleetlock.socket", "user/tribuned.service",
    "user/tribuned.socket",
    "user/tribuned-varlink.socket",
  ]

  init() throws {
    folder = try TemporaryFolder()
    for unit in Self.units {
      let text = try repositoryText("systemd/\(unit)")
      try folder.write(
        unit,
        ["@bindir@", "@confdir@", "@datadir@"].reduce(text) { $0.replacing($1, with: folder.path) })
    }
    for program in ["tribuned", "tribunectl", "tribune-logind", "tribune-web", "tribune-nats"] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder.path)/\(program)", withDestinationPath: "/bin/true")
    }
  }

  @Test("cause no complaints of systemd", arguments: ["--system", "--user"])
  func verify(manager: String) throws {
    let units = Self.units.filter { $0.hasPrefix("user/") == (manager == "--user") }
    let run = try SystemdRun(
      "systemd-analyze",
      ["verify", manager, "--recursive-errors=no", "--man=no"] + units.map { "\(folder.path)/\($0)" },
      in: folder)
    #expect(run.output == "")
    #expect(run.status == 0)
  }

  @Test("name man pages that exist", arguments: units)
  func documentation(unit: String) throws {
    let text = try String(contentsOfFile: folder.path + "/\(unit)", encoding: .utf8)
    let setting = try #require(text.split(separator: "\n").first { $0.hasPrefix("Documentation=") })
    for page in setting.dropFirst("Documentation=".count).split(separator: " ") {
      let name = try #require(try /man:([a-z.-]+)\(([0-9])\)/.wholeMatch(in: page), "\(page)")
      #expect(try repositoryText("docs/man/\(name.1).\(name.2).in") != "")
    }
  }

  @Test("are checked by a command that finds mistakes")
  func verifyMistake() throws {
    try folder.write("tribuned.service", "[Service]\nExecStart=/bin/true\nWatchdogSecs=1\n")
    let run = try SystemdRun(
      "systemd-analyze", ["verify", "--recursive-errors=no", folder.path + "/tribuned.service"], in: folder)
    #expect(run.output.contains("WatchdogSecs"))
    #expect(run.status != 0)
  }

  /// `threshold` is the exposure that fails, in tenths.
  private func security(
    of service: String, threshold: Int
  ) throws -> (run: SystemdRun, settings: [(name: String, isSet: Bool)]) {
    // systemd-analyze checks less in a service that stops late.
    let unit = try String(contentsOfFile: "\(folder.path)/\(service)", encoding: .utf8)
    try folder.write("asked/\(service)", unit.replacing("\nDefaultDependencies=no\n", with: "\n"))
    let run = try SystemdRun(
      "systemd-analyze",
      [
        "security", "--offline=true", "--no-pager", "--json=short", "--threshold=\(threshold)",
        "\(folder.path)/asked/\(service)",
      ],
      in: folder)
    let text = run.output.drop { $0 != "[" }.prefix { $0 != "\n" }
    let entries = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]]
    let settings = try #require(entries).compactMap { entry in
      (entry["name"] as? String).flatMap { name in (entry["set"] as? Bool).map { (name, $0) } }
    }
    return (run, settings)
  }

  @Test(
    "keep the exposure of the system's daemons low",
    arguments: [
      ("tribuned", 8), ("tribuned-keeper", 4), ("tribune-logind", 20), ("tribune-web", 8),
      ("tribune-nats", 15),
    ])
  func exposure(daemon: String, tenths: Int) throws {
    let run = try security(of: "\(daemon).service", threshold: tenths).run
    #expect(run.status == 0, "\(run.output)")
    #expect(try security(of: "\(daemon).service", threshold: 1).run.status != 0, "the threshold counts")
  }

  @Test(
    "explain each hardening that the bus, and its gateway to a cluster, lack",
    arguments: ["tribuned.service", "tribune-nats.service"])
  func explanations(service: String) throws {
    let comments = try repositoryText("systemd/\(service)").split(separator: "\n").filter {
      $0.hasPrefix("# ")
    }
    let missing = try security(of: service, threshold: 100).settings.filter { !$0.isSet }
    try #require(!missing.isEmpty)
    for setting in missing {
      let name = setting.name.prefix { $0 != "=" }
      #expect(comments.contains { $0.hasPrefix("# \(name)=") }, "\(setting.name)")
    }
  }

  private func settings(_ unit: String) throws -> [Substring] {
    try repositoryText("systemd/\(unit)").split(separator: "\n").filter { !$0.hasPrefix("#") }
  }

  private func value(_ key: String, of unit: String) throws -> Substring {
    let line = try #require(try settings(unit).first { $0.hasPrefix("\(key)=") }, "\(key)= of \(unit)")
    return line.dropFirst(key.count + 1)
  }

  @Test(
    "have the settings that the programs rely on, and lack those that would break them",
    arguments: [
      // Peers are visible. systemd stores the log and two leases. Only a restart's signal hands over. The socket's
      // folder outlives the service.
      (
        "tribuned.service",
        ["FileDescriptorStoreMax=3", "KillSignal=SIGINT", "RestartKillSignal=SIGTERM"],
        ["TRIBUNE_FDSTORE", "RuntimeDirectory=tribune", "PrivateUsers=", "ProtectProc=", "DynamicUser="]
      ),
      (
        "user/tribuned.service",
        ["FileDescriptorStoreMax=3", "KillSignal=SIGINT", "RestartKillSignal=SIGTERM"],
        ["TRIBUNE_FDSTORE", "RuntimeDirectory=tribune"]
      ),
      ("tribuned.socket", ["RuntimeDirectory=tribune"], []),
      ("user/tribuned.socket", ["RuntimeDirectory=tribune"], []),
      (
        "tribuned-varlink.socket",
        [
          "ListenStream=/run/tribune/io.tribune.Bus", "FileDescriptorName=varlink",
          "Service=tribuned.service",
        ],
        ["RuntimeDirectory=tribune"]
      ),
      (
        "tribune-fleetlock.socket",
        ["Service=tribune-nats.service", "ListenStream=127.0.0.1:9791", "SocketMode=0660"], []
      ),
      // Sees processes that have leases, and reads keys as its user. Its durable account survives a crash.
      (
        "tribune-nats.service",
        [
          "Type=notify", "Wants=tribuned.socket network-online.target", "Restart=always", "User=tribune-nats",
          "StateDirectory=tribune-nats",
          "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        ], ["fleetlock.socket", "PrivateNetwork=", "ProtectProc=", "ProcSubset=", "DynamicUser="]
      ),
      ("tribuned-keeper.service", ["ExecStart=@bindir@/tribuned --keep"], []),
      (
        "tribuned-keeper.socket",
        ["ListenSequentialPacket=/run/tribune-keeper/socket", "SocketMode=0600"], []
      ),
      // Delegates see the system, but cannot change it.
      (
        "tribune-delegates.service",
        [
          "Type=notify", "Requires=tribuned.socket", "After=tribuned.socket tribuned.service",
          "ProtectSystem=full", "NoNewPrivileges=yes", "Restart=always", "KillMode=mixed",
          "ExecStart=@bindir@/tribunectl delegate --directory=@confdir@/delegates.d",
        ], ["PrivateNetwork=", "PrivateTmp=", "ProtectProc=", "PrivateUsers=", "DynamicUser="]
      ),
      // Sees processes that have locks, and the terminals. However it ends, all units are unmasked.
      (
        "tribune-logind.service",
        [
          "Type=notify", "Requires=tribuned.socket", "Restart=always", "FileDescriptorStoreMax=16",
          "ExecStopPost=@bindir@/tribune-logind --unmask",
        ], ["PrivateDevices=", "ProtectProc=", "PrivateUsers=", "DynamicUser=", "User="]
      ),
    ] as [(String, [Substring], [String])])
  func settings(of unit: String, present: [Substring], absent: [String]) throws {
    let settings = try settings(unit)
    for setting in present { #expect(settings.contains(setting), "\(setting)") }
    for setting in absent { #expect(!settings.contains { $0.contains(setting) }, "\(setting)") }
  }

  @Test("allow the daemon and its keeper a descriptor for each connection and each file")
  func descriptors() throws {
    let room = Configuration().connectionsMax + 1024
    for unit in ["tribuned.service", "user/tribuned.service", "tribuned-keeper.service"] {
      let limit = try #require(Int(try value("LimitNOFILE", of: unit)))
      #expect(limit > room + 64, "\(unit)")
    }
  }

  @Test("give the daemon the path of its keeper, and start it even without one")
  func keeper() throws {
    let path = try value("ListenSequentialPacket", of: "tribuned-keeper.socket")
    #expect(try value("ExecStart", of: "tribuned.service").split(separator: " ").contains("--keeper=\(path)"))
    func units(_ key: String) throws -> [Substring] {
      try settings("tribuned.service").filter { $0.hasPrefix("\(key)=") }
        .flatMap { $0.dropFirst(key.count + 1).split(separator: " ") }
    }
    for key in ["Wants", "After"] { #expect(try units(key).contains("tribuned-keeper.socket"), "\(key)=") }
    for key in ["Requires", "BindsTo"] {
      #expect(try !units(key).contains { $0.hasPrefix("tribuned-keeper") }, "\(key)=")
    }
  }

  @Test("let only the bus reach its keeper")
  func keeperSocket() throws {
    let user = try value("SocketUser", of: "tribuned-keeper.socket")
    for unit in ["tribuned.service", "tribuned-keeper.service"] {
      #expect(try value("User", of: unit) == user, "\(unit)")
    }
  }

  @Test("keep the exposure of the delegates low")
  func delegates() throws {
    let run = try SystemdRun(
      "systemd-analyze",
      [
        "security", "--offline=true", "--no-pager", "--threshold=60",
        "\(folder.path)/tribune-delegates.service",
      ],
      in: folder)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test("keep a gateway's account of durable notifications over a reboot")
  func durableState() throws {
    #expect(try value("StateDirectory", of: "tribune-nats.service") == "tribune-nats")
  }

  @Test("name the users that sysusers.d creates")
  func user() throws {
    #expect(try value("User", of: "tribuned.service") == "tribune")
    #expect(try value("User", of: "tribune-web.service") == "tribune-web")
    let lines = try settings("tribune.sysusers")
    try #require(lines.count == 3)
    // An empty root hides this host's users.
    let run = try SystemdRun(
      "systemd-sysusers",
      ["--root=\(folder.path)", "--dry-run", "--inline", "--"] + lines.map { String($0) }, in: folder)
    #expect(run.status == 0, "\(run.output)")
    #expect(try value("User", of: "tribune-nats.service") == "tribune-nats")
    for user in [
      "'tribune' (Tribune bus)", "'tribune-web' (Tribune web page)", "'tribune-nats' (Tribune NATS gateway)",
    ] {
      #expect(run.output.contains("Creating user \(user)"), "\(run.output)")
    }
  }
}

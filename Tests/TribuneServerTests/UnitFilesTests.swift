// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What a program of systemd wrote, and how it ended.
struct SystemdRun {
  let status: Int32
  let output: String

  /// Runs a program to its end, for a minute at most.
  ///
  /// - Throws: when it is not installed, saying so.
  init(_ program: String, _ arguments: [String], in folder: TemporaryFolder) throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)") else {
      throw Missing(program: program)
    }
    try folder.write("output", "")
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path + "/output"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
    process.arguments = ["60", "/usr/bin/\(program)"] + arguments
    // A user's manager does not come to be without a runtime folder.
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
    var description: String { "/usr/bin/\(program) is not there: this test needs the package systemd" }
  }
}

@Suite("The unit files", .timeLimit(.minutes(2)))
struct UnitFilesTests {
  private let folder: TemporaryFolder

  private static let units = [
    "tribuned.service", "tribuned.socket", "tribune-delegates.service", "user/tribuned.service",
    "user/tribuned.socket",
  ]

  /// The units as `make install` would write them, around programs that are there.
  init() throws {
    folder = try TemporaryFolder()
    for unit in Self.units {
      let text = try String(contentsOfFile: repositoryFile("systemd/\(unit)"), encoding: .utf8)
      try folder.write(
        unit, text.replacing("@bindir@", with: folder.path).replacing("@confdir@", with: folder.path))
    }
    for program in ["tribuned", "tribunectl"] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder.path)/\(program)", withDestinationPath: "/bin/true")
    }
  }

  @Test("have nothing that systemd objects to", arguments: ["--system", "--user"])
  func verify(manager: String) throws {
    let units = Self.units.filter { $0.hasPrefix("user/") == (manager == "--user") }
    let run = try SystemdRun(
      "systemd-analyze",
      ["verify", manager, "--recursive-errors=no"] + units.map { "\(folder.path)/\($0)" }, in: folder)
    #expect(run.output == "")
    #expect(run.status == 0)
  }

  @Test("a mistake in them would be seen")
  func verifyMistake() throws {
    try folder.write("tribuned.service", "[Service]\nExecStart=/bin/true\nWatchdogSecs=1\n")
    let run = try SystemdRun(
      "systemd-analyze", ["verify", "--recursive-errors=no", folder.path + "/tribuned.service"], in: folder)
    #expect(run.output.contains("WatchdogSecs"))
    #expect(run.status != 0)
  }

  @Test("expose the system's daemon to no more than 0.5 of 10")
  func security() throws {
    let run = try SystemdRun(
      "systemd-analyze",
      ["security", "--offline=true", "--no-pager", "--threshold=5", folder.path + "/tribuned.service"],
      in: folder)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test("let what decides see the system and reach the bus, and write nothing of the system's")
  func delegates() throws {
    let service = try String(
      contentsOfFile: repositoryFile("systemd/tribune-delegates.service"), encoding: .utf8)
    let settings = service.split(separator: "\n").filter { !$0.hasPrefix("#") }
    for setting in [
      "Type=notify", "Requires=tribuned.socket", "After=tribuned.socket tribuned.service",
      "ProtectSystem=full", "NoNewPrivileges=yes", "Restart=on-failure",
      "ExecStart=@bindir@/tribunectl delegate --directory=@confdir@/delegates.d",
    ] { #expect(settings.contains(Substring(setting)), "\(setting)") }
    for setting in ["PrivateNetwork", "PrivateTmp", "ProtectProc", "PrivateUsers", "DynamicUser"] {
      #expect(!settings.contains { $0.hasPrefix("\(setting)=") }, "\(setting)=")
    }
    let run = try SystemdRun(
      "systemd-analyze",
      [
        "security", "--offline=true", "--no-pager", "--threshold=60",
        "\(folder.path)/tribune-delegates.service",
      ],
      in: folder)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test("leave the peers visible, which hardening could hide")
  func peersAreVisible() throws {
    let service = try String(contentsOfFile: repositoryFile("systemd/tribuned.service"), encoding: .utf8)
    let settings = service.split(separator: "\n").filter { !$0.hasPrefix("#") }
    for setting in ["PrivateUsers", "ProtectProc", "RuntimeDirectory", "DynamicUser"] {
      #expect(!settings.contains { $0.hasPrefix("\(setting)=") }, "\(setting)=")
    }
  }

  @Test("name a user that the system is told to make")
  func user() throws {
    let service = try String(contentsOfFile: repositoryFile("systemd/tribuned.service"), encoding: .utf8)
    #expect(service.contains("\nUser=tribune\n"))
    // An empty root, so that what this machine's users are does not count.
    let run = try SystemdRun(
      "systemd-sysusers",
      ["--root=\(folder.path)", "--dry-run", "--inline", "--", userLine()], in: folder)
    #expect(run.status == 0, "\(run.output)")
    #expect(run.output.contains("Creating user 'tribune' (Tribune bus)"), "\(run.output)")
  }

  private func userLine() throws -> String {
    let text = try String(contentsOfFile: repositoryFile("systemd/tribune.sysusers"), encoding: .utf8)
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    try #require(lines.count == 1)
    return String(lines[0])
  }
}

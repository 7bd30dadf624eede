// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TribuneTestSupport

/// A container with a real systemd, which ends with its last reference. tools/systemd-container boots it, with or
/// without Tribune; tools/test-systemd prepares that.
final class Container: ServedBus {
  private let folder: TestFolder
  private let nspawn: RunningProgram
  let leader: Int32
  let locksBindRoot: Bool

  var root: String { "/proc/\(leader)/root" }
  var path: String { "\(root)/run/tribune/bus" }
  /// Its writes to disk, which outlive it.
  private var written: String { "\(folder.path)/memory/upper" }

  enum Release: CaseIterable {
    static let allCases = [own, newer]

    /// TRIBUNE_RELEASE, or this machine's.
    case own
    case newer
    /// This machine's: libnats has another name in each release.
    case ofGateway

    fileprivate func tree() throws -> String {
      switch self {
      case .own: try Container.given("TRIBUNE_CONTAINER_TREE")
      case .newer: try Container.given("TRIBUNE_NEWER_TREE")
      case .ofGateway: try Container.given("TRIBUNE_GATEWAY_TREE")
      }
    }
  }

  init(
    _ release: Release = .own, enabled: [String] = ["tribuned.socket"], hasTribune: Bool = true,
    files: [String: String] = [:],
    programs: [String: String] = [:]
  ) throws {
    let parent = try Self.given("TRIBUNE_CONTAINER_FOLDER")
    let tree = try release.tree()
    locksBindRoot = try tree == Release.newer.tree()
    let installed = try hasTribune ? [Self.given("TRIBUNE_CONTAINER_INSTALLED")] : []
    folder = try TestFolder(named: "\(parent)/\(UInt32.random(in: .min ... .max))")
    let notifications = try NotifySocket(path: "\(folder.path)/notify")
    var own: [String] = []
    if !(files.isEmpty && programs.isEmpty) {
      own = ["\(folder.path)/own"]
      for (path, text) in files { try folder.write(text, to: "own\(path)") }
      for (path, text) in programs { try folder.write(text, to: "own\(path)", mode: 0o755) }
    }
    nspawn = try RunningProgram(
      [Script.repository.path + "/tools/systemd-container", folder.path]
        + own + installed + [tree, "--"] + enabled,
      environment: ["NOTIFY_SOCKET": notifications.address])
    do {
      var leader: Int32?
      try notifications.wait { notification in
        for line in notification.split(separator: "\n") where line.hasPrefix("X_NSPAWN_LEADER_PID=") {
          leader = Int32(line.split(separator: "=")[1])
        }
        return leader != nil && notification.contains("READY=1")
      }
      self.leader = leader ?? 0
    } catch {
      print("the container does not boot:\n\(try folder.read("console"))")
      throw error
    }
  }

  deinit {
    kill(leader, SIGKILL)
    _ = nspawn.status()
    for mount in ["root", "memory"] {
      if unsafe umount2("\(folder.path)/\(mount)", CInt(MNT_DETACH)) == -1 {
        print("cannot unmount \(folder.path)/\(mount): \(errno)")
      }
    }
  }

  fileprivate static func given(_ variable: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[variable] else {
      throw Programs.Missing(
        description: "there is no container to boot (\(variable)); \"make test-systemd\" sees to one")
    }
    return value
  }

  // MARK: Inside

  private var inside: [String] {
    [
      "/usr/bin/nsenter", "-t\(leader)", "-m", "-p", "-u", "-i", "-n", "-C", "--", "setpriv",
      "--pdeathsig=KILL",
    ]
      + [
        "/usr/bin/env", "-i", "LC_ALL=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
        "HOME=/root",
      ]
  }

  func run(_ command: String...) throws -> FinishedProgram { try FinishedProgram(inside + command) }

  @discardableResult
  func does(_ command: String...) throws -> String { try does(command) }

  @discardableResult
  func does(_ command: [String]) throws -> String {
    let program = try FinishedProgram(inside + command)
    guard program.status == 0 else {
      throw Programs.Missing(
        description: "\(command) ends with \(program.status): \(program.output)\(program.errors)")
    }
    return program.output.hasSuffix("\n") ? String(program.output.dropLast()) : program.output
  }

  func start(_ program: String, _ arguments: [String], input: Pipe? = nil) throws -> RunningProgram {
    try RunningProgram(inside + [program] + arguments, input: input)
  }

  func staying(_ arguments: String...) throws -> RunningProgram { try staying(arguments) }

  func staying(_ arguments: [String]) throws -> RunningProgram {
    let program = try start("tribunectl", arguments)
    let line = try #require(try program.errors.line())
    try #require(["holding ", "observing ", "attached "].contains { line.hasPrefix($0) }, "\(line)")
    return program
  }

  func addUser(_ name: String) throws -> String {
    try does("useradd", "--create-home", name)
    let uid = try does("id", "--user", name)
    // From systemd 257 on, logind fails on hosts with control groups of version 1.
    let file = "/var/lib/systemd/linger/\(name)"
    try does("sh", "-c", "loginctl enable-linger \(name) 2>/dev/null || install -D /dev/null \(file)")
    try does("systemctl", "start", "user@\(uid).service")
    return uid
  }

  @discardableResult
  func does(as user: String, _ uid: String, _ command: String...) throws -> String {
    try does(["runuser", "-u", user, "--", "env", "XDG_RUNTIME_DIR=/run/user/\(uid)"] + command)
  }

  /// Starts a user's command that ends with the test; with runuser(1), it would not.
  func start(as user: String, _ uid: String, _ command: String...) throws -> RunningProgram {
    try start(as: user, uid, command)
  }

  func start(as user: String, _ uid: String, _ command: [String]) throws -> RunningProgram {
    try start(
      "setpriv",
      ["--reuid=\(user)", "--regid=\(user)", "--init-groups", "setpriv", "--pdeathsig=KILL"]
        + ["env", "XDG_RUNTIME_DIR=/run/user/\(uid)"] + command)
  }

  func write(_ text: String, to path: String, mode: Int = 0o644) throws {
    let file = URL(fileURLWithPath: root + path)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
  }

  func read(_ path: String) throws -> String {
    try String(contentsOf: URL(fileURLWithPath: root + path), encoding: .utf8)
  }

  func write(unit: String, _ text: String) throws {
    try write(text, to: "/etc/systemd/system/\(unit)")
    try does("systemctl", "daemon-reload")
  }

  func copy(_ file: String, to path: String, mode: Int = 0o644) throws {
    try write(Script.text(of: file), to: path, mode: mode)
    try does("systemctl", "daemon-reload")
  }

  /// Copies Tribune's packages into it: `older.deb`, `newer.deb` (a higher version), their gateways, and the folder
  /// `clients`.
  func copyPackages(to folder: String) throws {
    let packages = try Self.given("TRIBUNE_CONTAINER_FOLDER")
    for package in ["older.deb", "older-gateway.deb", "newer.deb", "newer-gateway.deb", "clients"] {
      try FileManager.default.copyItem(
        atPath: "\(packages)/\(package)", toPath: "\(root)\(folder)/\(package)")
    }
  }

  // MARK: Units

  func property(_ name: String, of unit: String = "tribuned.service") throws -> String {
    try does("systemctl", "show", "--property=\(name)", "--value", unit)
  }

  func number(_ name: String, of unit: String = "tribuned.service") throws -> Int {
    let text = try property(name, of: unit)
    guard let number = Int(text) else {
      throw Programs.Missing(description: "\(name)= of \(unit) is no number but \"\(text)\"")
    }
    return number
  }

  func property(_ name: String, ofBusOf user: String, _ uid: String) throws -> String {
    try does(as: user, uid, "systemctl", "--user", "show", "-P", name, "tribuned.service")
  }

  /// - Parameter matches: fields, such as `UNIT=x.service`. journalctl does not get them: with matches, it sometimes
  ///   follows without printing a new entry.
  func waitForEntry(_ matches: String..., until isWanted: ([String: Any]) -> Bool) throws {
    let journal = try RunningProgram(
      inside + ["journalctl", "--follow", "--lines=all", "--output=json"])
    let fields = matches.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    while let line = try journal.output.line() {
      let entry = try jsonObject(line)
      if fields.allSatisfy({ entry[$0[0]] as? String == $0[1] }), isWanted(entry) { return }
    }
    throw Programs.Missing(description: "journalctl ends: \(try journal.errors.rest())")
  }

  func waitForMessage(_ text: String, of unit: String) throws {
    try waitForEntry("_SYSTEMD_UNIT=\(unit)") { ($0["MESSAGE"] as? String)?.contains(text) == true }
  }

  func restart(_ unit: String = "tribuned.service", by signal: String) throws {
    let run = try property("InvocationID", of: unit)
    try does("systemctl", "kill", "--signal=\(signal)", unit)
    try waitForStart(of: unit, after: run)
  }

  func waitForStart(of unit: String = "tribuned.service", after run: String) throws {
    var isLater = false
    // SD_MESSAGE_UNIT_STARTED
    try waitForEntry("UNIT=\(unit)", "MESSAGE_ID=39f53479d3a045ac8e11786248231fbf") { entry in
      if isLater { return true }
      isLater = entry["INVOCATION_ID"] as? String == run
      return false
    }
  }

  /// Returns 0 after an orderly shutdown.
  func powerOff(by command: String...) throws -> Int32 { try powerOff(by: command) }

  func powerOff(by command: [String]) throws -> Int32 {
    _ = try FinishedProgram(inside + command)
    return nspawn.status()
  }

  // MARK: Afterwards

  func left(_ path: String) throws -> String {
    try String(contentsOf: URL(fileURLWithPath: written + path), encoding: .utf8)
  }

  func journalLeft(_ matches: String...) throws -> [[String: Any]] {
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(written)/var/log/journal")
    guard folders.count == 1 else {
      throw Programs.Missing(description: "there is no journal, but \(folders)")
    }
    let journal = try FinishedProgram(
      ["journalctl", "--directory=\(written)/var/log/journal/\(folders[0])", "--output=json"] + matches)
    return try journal.output.split(separator: "\n").map { try jsonObject($0) }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneTestSupport

/// A machine of its own with a real systemd, up when `init` returns, and gone with its last user.
///
/// It is a container that tools/systemd-container boots, with Tribune as `make install` installs it, or without
/// it. tools/test-systemd sees to what that needs.
final class Container {
  private let folder: TestFolder
  private let nspawn: RunningProgram
  /// Its systemd, as this side of the wall knows it.
  let leader: Int32

  /// Its files, while it runs.
  var root: String { "/proc/\(leader)/root" }
  /// The system's bus in it, from this side of the wall.
  var bus: String { "\(root)/run/tribune/bus" }
  /// What it wrote to disk, also when it has ended.
  private var written: String { "\(folder.path)/memory/upper" }

  /// Boots one.
  ///
  /// - Parameters:
  ///   - enabled: the units that are enabled.
  ///   - hasTribune: whether Tribune is installed.
  ///   - files: what it has from its first boot on, beside that: texts by their paths.
  ///   - programs: the same, and executable.
  init(
    enabled: [String] = ["tribuned.socket"], hasTribune: Bool = true, files: [String: String] = [:],
    programs: [String: String] = [:]
  ) throws {
    let parent = try Self.given("TRIBUNE_CONTAINER_FOLDER")
    let installed = try hasTribune ? [Self.given("TRIBUNE_CONTAINER_INSTALLED")] : []
    folder = try TestFolder(named: "\(parent)/\(UInt32.random(in: .min ... .max))")
    let notifications = try NotifySocket(path: "\(folder.path)/notify")
    var own: [String] = []
    if !(files.isEmpty && programs.isEmpty) {
      own = ["\(folder.path)/own"]
      for (path, text) in files { try folder.write(text, to: "own\(path)") }
      for (path, text) in programs {
        try folder.write(text, to: "own\(path)")
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o755], ofItemAtPath: "\(folder.path)/own\(path)")
      }
    }
    nspawn = try RunningProgram(
      [Script.repository.path + "/tools/systemd-container", folder.path]
        + own + installed + [Self.given("TRIBUNE_CONTAINER_TREE"), "--"] + enabled,
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
    // A container ends with its systemd, and systemd-nspawn with that.
    kill(leader, SIGKILL)
    _ = nspawn.status()
    for mount in ["root", "memory"] {
      if unsafe umount2("\(folder.path)/\(mount)", CInt(MNT_DETACH)) == -1 {
        print("cannot unmount \(folder.path)/\(mount): \(errno)")
      }
    }
  }

  /// What tools/test-systemd tells in a variable.
  private static func given(_ variable: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[variable] else {
      throw Programs.Missing(
        description: "there is no container to boot (\(variable)); \"make test-systemd\" sees to one")
    }
    return value
  }

  // MARK: Inside

  /// A command that runs another one inside, which ends with it.
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

  /// Runs a command inside, as root, to its end.
  func run(_ command: String...) throws -> FinishedProgram { try FinishedProgram(inside + command) }

  /// Runs a command inside that has to succeed.
  ///
  /// - Returns: what it wrote, without the last line's end.
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

  /// Starts a command inside that stays.
  func start(_ program: String, _ arguments: [String], input: Pipe? = nil) throws -> RunningProgram {
    try RunningProgram(inside + [program] + arguments, input: input)
  }

  /// Starts a command of a user inside that stays. It ends with the test, which one that runuser(1) starts does not.
  func start(as user: String, _ uid: String, _ command: String...) throws -> RunningProgram {
    try start(
      "setpriv",
      ["--reuid=\(user)", "--regid=\(user)", "--init-groups", "setpriv", "--pdeathsig=KILL"]
        + ["env", "XDG_RUNTIME_DIR=/run/user/\(uid)"] + command)
  }

  /// Writes a file inside.
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

  /// Gives it a unit, or a drop-in.
  func write(unit: String, _ text: String) throws {
    try write(text, to: "/etc/systemd/system/\(unit)")
    try does("systemctl", "daemon-reload")
  }

  /// Gives it a file that the repository has for its users.
  func copy(_ file: String, to path: String, mode: Int = 0o644) throws {
    let text = try String(contentsOf: Script.repository.appending(path: file), encoding: .utf8)
    try write(text, to: path, mode: mode)
    try does("systemctl", "daemon-reload")
  }

  /// Gives it the packages of Tribune, `older.deb` and `newer.deb`, of which the second has the higher version.
  func copyPackages(to folder: String) throws {
    let packages = try Self.given("TRIBUNE_CONTAINER_FOLDER")
    for package in ["older.deb", "newer.deb"] {
      try FileManager.default.copyItem(
        atPath: "\(packages)/\(package)", toPath: "\(root)\(folder)/\(package)")
    }
  }

  // MARK: Units

  /// What systemd says of a unit.
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

  /// The journal's entries, from the first on and for as long as it takes, until one is meant.
  ///
  /// - Parameter matches: as journalctl(1) takes them.
  /// - Returns: the entry that is meant.
  @discardableResult
  func waitForEntry(_ matches: String..., until isMeant: ([String: Any]) -> Bool) throws -> [String: Any] {
    let journal = try RunningProgram(
      inside + ["journalctl", "--follow", "--lines=all", "--output=json"] + matches)
    while let line = try journal.output.line() {
      if let entry = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], isMeant(entry)
      {
        return entry
      }
    }
    throw Programs.Missing(description: "journalctl ends: \(try journal.errors.rest())")
  }

  /// Waits until a unit is up in a later run than this one, which was up.
  func waitForStart(of unit: String = "tribuned.service", after run: String) throws {
    var isLater = false
    // What systemd logs when a unit has started (SD_MESSAGE_UNIT_STARTED).
    try waitForEntry("UNIT=\(unit)", "MESSAGE_ID=39f53479d3a045ac8e11786248231fbf") { entry in
      if isLater { return true }
      isLater = entry["INVOCATION_ID"] as? String == run
      return false
    }
  }

  /// Powers it off, and returns when it has ended.
  ///
  /// - Parameter command: what does so.
  /// - Returns: 0 when it has ended as it should.
  func powerOff(by command: String...) throws -> Int32 {
    _ = try FinishedProgram(inside + command)
    return nspawn.status()
  }

  // MARK: Afterwards

  /// A file that it wrote to disk, also when it has ended.
  func left(_ path: String) throws -> String {
    try String(contentsOf: URL(fileURLWithPath: written + path), encoding: .utf8)
  }

  /// The journal of a machine that has ended.
  func journalLeft(_ matches: String...) throws -> [[String: Any]] {
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(written)/var/log/journal")
    guard folders.count == 1 else {
      throw Programs.Missing(description: "there is no journal, but \(folders)")
    }
    let journal = try FinishedProgram(
      ["journalctl", "--directory=\(written)/var/log/journal/\(folders[0])", "--output=json"] + matches)
    return try journal.output.split(separator: "\n").compactMap { line in
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    }
  }
}

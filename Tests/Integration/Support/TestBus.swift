// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem
import TribuneTestSupport

/// A real daemon on a socket in a fresh folder. It is ready when `init` returns, and is killed when its last user
/// releases it.
final class TestBus: StartedProgram, ServedBus {
  let folder: TestFolder
  let notifySocket: NotifySocket
  private(set) var readiness = ""
  fileprivate let isManaged: Bool
  let path: String
  let logPath: String
  let process = Process()
  var companions: [RunningProgram] = []

  var address: String { "unix:\(path)" }

  /// A `configuration` of nil keeps the file. `arguments` follow `--config` and `--keeper`; nil is `--listen`. With a
  /// keeper, no service manager starts the daemon, unless `manager` is given.
  init(
    configuration: String? = "", environment: [String: String] = [:], wrapper: [String] = [],
    arguments: [String]? = nil, socket: String = "bus", folder: TestFolder? = nil,
    log: String = "log", keeper: String? = nil, manager: FakeSupervisor? = nil
  ) throws {
    let folder = try folder ?? TestFolder()
    self.folder = folder
    path = "\(folder.path)/\(socket)"
    logPath = "\(folder.path)/\(log)"
    if let configuration { try folder.write(configuration, to: "etc/tribuned.conf") }
    _ = unsafe unlink("\(folder.path)/notify")
    notifySocket = try manager?.notifySocket ?? NotifySocket(path: "\(folder.path)/notify")
    isManaged = keeper == nil || manager != nil
    let log = try folder.open(log)
    let command =
      (manager == nil ? wrapper : FakeSupervisor.wrapper)
      + [try Programs.path(of: "tribuned"), "--config=\(folder.path)/etc"]
      + (arguments ?? ["--listen=\(path)"]) + (keeper.map { ["--keeper=\($0)"] } ?? [])
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    var variables = ProcessInfo.processInfo.environment
    variables["NOTIFY_SOCKET"] = isManaged ? notifySocket.address : nil
    variables.merge(environment) { $1 }
    process.environment = variables
    process.standardError = log
    process.standardInput = try manager?.passing() ?? FileHandle.nullDevice
    try process.runUnblocked()
    do {
      if let manager {
        readiness = try manager.wait(for: "READY=1")
      } else if isManaged {
        readiness = try notifySocket.wait(for: "READY=1")
      } else {
        try waitForLog("tribuned: listening on ")
      }
    } catch {
      print("the daemon does not become ready: \(try self.log())")
      throw error
    }
  }

  deinit { killIfRunning() }

  @discardableResult
  func stop() -> Int32 { end(SIGTERM) }

  /// Waits for a text in standard error after `offset` bytes.
  func waitForLog(_ text: String, behind offset: Int = 0) throws {
    let following = try RunningProgram([
      "/usr/bin/tail", "--bytes=+\(offset + 1)", "--follow", "--pid=\(pid)", logPath,
    ])
    while let line = try following.output.line() { if line.contains(text) { return } }
    throw Programs.Missing(description: "the daemon ends before it says \"\(text)\"")
  }

  func log() throws -> String { try String(contentsOfFile: logPath, encoding: .utf8) }

  func processStatus(_ key: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    for line in status.split(separator: "\n") where line.hasPrefix("\(key):") {
      if let number = Int(line.filter(\.isNumber)) { return number }
    }
    throw Programs.Missing(description: "/proc/\(pid)/status has no \(key)")
  }
}

extension TestBus {
  static func allowingAll(_ configuration: String = "") throws -> TestBus {
    let folder = try TestFolder()
    try folder.write("allow * ** user:*\n", to: "etc/policy.d/all.policy")
    return try TestBus(configuration: configuration, folder: folder)
  }

  /// Resident data in KiB. Code is excluded, because the kernel chooses when to load it.
  func privateMemory() throws -> Int { try processStatus("RssAnon") }

  /// Puts it where clients look for their user's bus, and returns their environment.
  func asOwnOfItsUser() throws -> [String: String] {
    let place = "\(folder.path)/tribune"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: "\(place)/bus", withDestinationPath: path)
    return ["TRIBUNE_ADDRESS": "", "XDG_RUNTIME_DIR": folder.path]
  }

  func openDescriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
  }

  func openFiles() throws -> Int { try OpenFiles.memoryFileCount(of: pid) }

  func reload(_ configuration: String) throws {
    try folder.write(configuration, to: "etc/tribuned.conf")
    let before = try log().utf8.count
    signal(SIGHUP)
    if isManaged {
      try notifySocket.wait(for: "READY=1")
    } else {
      try waitForLog("the configuration was read again", behind: before)
    }
  }
}

extension TestBus {
  /// Waits for a condition without an event, such as a closed memfd. Between polls the bus serves a client, so
  /// polling takes no processor time from it.
  func wait(serving client: RawClient? = nil, until condition: () throws -> Bool) throws {
    let client = try client ?? RawClient.greeted(self)
    let end = ContinuousClock.now + .seconds(Programs.patienceSeconds)
    while try !condition() {
      guard ContinuousClock.now < end else { throw Programs.Missing(description: "the condition never held") }
      try client.settle()
    }
  }
}

enum OpenFiles {
  /// The memfd with the log, which is not counted.
  private static let state = "/memfd:tribune-shared"

  static func paths(of pid: Int32) throws -> [String] {
    let files = FileManager.default
    return try files.contentsOfDirectory(atPath: "/proc/\(pid)/fd").compactMap { name in
      do {
        return try files.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(name)")
      } catch {
        return nil
      }
    }
  }

  static func memoryFileCount(of pid: Int32) throws -> Int {
    try paths(of: pid).count { $0.hasPrefix("/memfd:") && !$0.hasPrefix(state) }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem
import TribuneTestSupport

/// A real daemon on a socket in a fresh folder, ready when `init` returns, and ended with its last user.
final class TestBus {
  let folder: TestFolder
  let notifySocket: NotifySocket
  /// How it said that it was ready.
  private(set) var readiness = ""
  fileprivate let isManaged: Bool
  /// Where it listens.
  let path: String
  /// What the daemon writes to standard error.
  let logPath: String
  private let process = Process()

  var address: String { "unix:\(path)" }
  var pid: Int32 { process.processIdentifier }

  /// - Parameters:
  ///   - configuration: the text of tribuned.conf; nil leaves what is there.
  ///   - environment: variables beside those of the test.
  ///   - wrapper: a command that starts the daemon, which is appended to it.
  ///   - arguments: of the daemon, beside where its configuration is; nil says where to listen.
  ///   - socket: where in the folder it will listen.
  ///   - log: where in the folder its standard error goes.
  ///   - keeper: where its keeper listens, if it has one. No service manager has started it then, unless there is a
  ///     `manager`.
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
    guard FileManager.default.createFile(atPath: logPath, contents: nil),
      let log = FileHandle(forWritingAtPath: logPath)
    else { throw Programs.Missing(description: "cannot write \(logPath)") }

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
    try process.run()
    do {
      if let manager {
        readiness = try manager.wait(for: "READY=1")
      } else if isManaged {
        readiness = try notifySocket.wait(for: "READY=1")
      } else {
        try waitForLog("tribuned: listening on ")
      }
    } catch {
      print("the daemon does not become ready: \(try String(contentsOfFile: logPath, encoding: .utf8))")
      throw error
    }
  }

  deinit {
    if process.isRunning {
      kill(pid, SIGKILL)
      process.waitUntilExit()
    }
  }

  func signal(_ number: CInt) { kill(pid, number) }

  /// Ends the daemon and waits for it.
  ///
  /// - Returns: its exit status, or the signal that ended it, negated.
  @discardableResult
  func stop() -> Int32 {
    signal(SIGTERM)
    return waitForEnd()
  }

  func waitForEnd() -> Int32 {
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
  }

  /// Waits until the daemon has written a text to standard error, behind the first so many bytes.
  func waitForLog(_ text: String, behind offset: Int = 0) throws {
    let following = try RunningProgram([
      "/usr/bin/tail", "--bytes=+\(offset + 1)", "--follow", "--pid=\(pid)", logPath,
    ])
    while let line = try following.output.line() { if line.contains(text) { return } }
    throw Programs.Missing(description: "the daemon ends before it says \"\(text)\"")
  }

  /// What the daemon has written to standard error.
  func log() throws -> String { try String(contentsOfFile: logPath, encoding: .utf8) }

  /// A line of /proc/PID/status, as a number.
  func processStatus(_ key: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    for line in status.split(separator: "\n") where line.hasPrefix("\(key):") {
      if let number = Int(line.filter(\.isNumber)) { return number }
    }
    throw Programs.Missing(description: "/proc/\(pid)/status has no \(key)")
  }
}

extension TestBus {
  /// Resident memory, in KiB, that holds data. The program's code is not counted: when that comes into memory, and how
  /// much of it at once, is the kernel's choice.
  func privateMemory() throws -> Int { try processStatus("RssAnon") }

  func openDescriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
  }

  /// Files in memory that it has open.
  func openFiles() throws -> Int { try OpenFiles.memoryFileCount(of: pid) }

  /// Has the daemon read a new configuration, and waits until it says that it goes by it.
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
  /// Waits for what no event tells of: a thread of the bus closes a file in memory, of which nobody else hears, or the
  /// kernel gets memory back that the bus has freed. So it is looked at, again and again, and each time the bus has
  /// served a client in between, which takes no processor from it.
  ///
  /// - Parameter client: who is served, where nobody else can connect.
  func wait(serving client: RawClient? = nil, until isSo: () throws -> Bool) throws {
    let client = try client ?? RawClient.greeted(self)
    let end = ContinuousClock.now + .seconds(Programs.patienceSeconds)
    while try !isSo() {
      guard ContinuousClock.now < end else { throw Programs.Missing(description: "it is not so") }
      try client.settle()
    }
  }
}

/// What processes have open.
enum OpenFiles {
  /// What a daemon leaves to the next one lies in such a file, too.
  private static let state = "/memfd:tribune-shared"

  /// What the descriptors of a process refer to.
  static func paths(of pid: Int32) throws -> [String] {
    let files = FileManager.default
    return try files.contentsOfDirectory(atPath: "/proc/\(pid)/fd").compactMap { name in
      do {
        return try files.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(name)")
      } catch {
        // Closed meanwhile.
        return nil
      }
    }
  }

  /// How many files in memory a process has open, of those that are passed around.
  static func memoryFileCount(of pid: Int32) throws -> Int {
    try paths(of: pid).count { $0.hasPrefix("/memfd:") && !$0.hasPrefix(state) }
  }
}

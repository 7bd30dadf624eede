// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What is measured, running on a socket of its own.
final class Server: Sendable {
  enum Kind: String, Sendable, Codable, CaseIterable {
    case relay
    /// A bus on which nobody is but those who measure.
    case tribune
    /// One beside whose measured clients there are others, who observe names that are not posted.
    case crowded
    /// Likewise, by patterns with stars.
    case starred
    /// One to which connections come that do nothing.
    case idle
    case redis
    case nats
    case mosquitto
    case dbusDaemon
    case dbusBroker
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let kind: Kind
  /// The path of its Unix socket, or its TCP port.
  let address: String
  /// What it says where nobody listens; nil if that goes where this program's own complaints go.
  private let log: URL?
  private let process = Process()

  /// Starts the program. Whoever connects waits until it listens.
  init(_ kind: Kind, program: String, in folder: URL) throws {
    let settings = try Settings(kind, in: folder)
    self.kind = kind
    address = settings.address
    process.executableURL = URL(filePath: program)
    process.arguments = settings.arguments
    if kind.isPeer {
      let log = folder.appending(path: "\(kind).log")
      try Data().write(to: log)
      let handle = try FileHandle(forWritingTo: log)
      process.standardOutput = handle
      process.standardError = handle
      process.standardInput = FileHandle.nullDevice
      self.log = log
    } else {
      log = nil
    }
    do {
      try process.run()
    } catch {
      throw Failure(description: "\(program) could not be started: \(error.localizedDescription)")
    }
  }

  /// Ends the server, and returns when it has.
  func stop() {
    process.terminate()
    // Foundation's own wait needs a run loop, which no task has. This one leaves the reaping to Foundation.
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(process.processIdentifier), &information, WEXITED | WNOWAIT) == -1,
      errno == EINTR
    {}
  }

  /// The last line of its log, for who is to be told that something went wrong with it.
  var lastWords: String {
    guard let log else { return "" }
    do {
      let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
      return lines.last.map { "; it said: \($0)" } ?? ""
    } catch {
      return "; what it said cannot be read: \(error.localizedDescription)"
    }
  }

  /// The process that serves. dbus-broker is its launcher's child.
  private func servingProcess() throws -> pid_t {
    let started = process.processIdentifier
    guard kind == .dbusBroker else { return started }
    let path = "/proc/\(started)/task/\(started)/children"
    let children = try String(contentsOfFile: path, encoding: .utf8).split(separator: " ").compactMap {
      pid_t($0)
    }
    guard children.count == 1 else {
      throw Failure(description: "dbus-broker's launcher has \(children.count) children, not one\(lastWords)")
    }
    return children[0]
  }

  /// Bytes of memory that the server has resident.
  func residentBytes() throws -> Int {
    let path = "/proc/\(try servingProcess())/status"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("VmRSS:") }),
      let kibibytes = Int(line.filter(\.isNumber))
    else { throw Failure(description: "\(path) has no VmRSS") }
    return kibibytes * 1024
  }

  /// The processor time that the server has had, in nanoseconds: all threads together that it has now.
  func processorTime() throws -> UInt64 {
    guard process.isRunning else {
      throw Failure(description: "\(process.executableURL?.path ?? "the server") has ended\(lastWords)")
    }
    let threads = "/proc/\(try servingProcess())/task"
    return try FileManager.default.contentsOfDirectory(atPath: threads).reduce(0) { sum, thread in
      let path = "\(threads)/\(thread)/schedstat"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      guard let first = text.split(separator: " ").first, let time = UInt64(first) else {
        throw Failure(description: "\(path) does not begin with a number")
      }
      return sum + time
    }
  }
}

extension Server.Kind {
  /// Whether it is what a user could pick instead of the bus.
  var isPeer: Bool {
    switch self {
    case .relay, .tribune, .crowded, .starred, .idle: false
    case .redis, .nats, .mosquitto, .dbusDaemon, .dbusBroker: true
    }
  }
}

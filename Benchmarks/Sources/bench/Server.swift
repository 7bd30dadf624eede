// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A server that is measured, running on its own socket.
final class Server: Sendable {
  enum Kind: String, Sendable {
    case relay
    /// A bus with no clients but the measured ones.
    case tribune
    /// A bus with other clients, which observe names that are not posted.
    case crowded
    /// A bus with other clients, which observe patterns with stars.
    case starred
    /// A bus with idle connections.
    case idle
    /// A bus with more and more other clients.
    case growing
    /// A bus of another user, whose policy has 1,000 lines and says what its clients may do.
    case governed
    /// A bus without clients.
    case resting
    case redis
    case nats
    case mosquitto
    case dbusDaemon = "dbus-daemon"
    case dbusBroker = "dbus-broker"
    case zeroMQ = "zeromq"
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let kind: Kind
  /// As the program prints it; empty for our own.
  let version: String
  /// The path of its Unix socket, or its TCP port.
  let address: String
  /// Its output; nil if it shares this program's.
  private let log: URL?
  private let process = Process()

  /// Starts the program. Clients that connect wait until it listens.
  init(_ kind: Kind, _ programs: Programs, in folder: URL) throws {
    let settings = try Settings(kind, in: folder)
    let program: String
    if kind.isPeer {
      let peer = try PeerProgram(kind, peers: programs.peers)
      program = peer.path
      version = peer.version
    } else {
      program = kind == .relay ? programs.relay : programs.tribuned
      version = ""
    }
    self.kind = kind
    address = settings.address
    let command =
      try (kind == .governed ? Self.asNobody(program, in: folder) : [program]) + settings.arguments
    process.executableURL = URL(filePath: command[0])
    process.arguments = Array(command.dropFirst())
    if kind.isPeer {
      let log = folder.appending(path: "\(kind.rawValue).log")
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

  /// The command that runs a program as a user whom nobody else is.
  private static func asNobody(_ program: String, in folder: URL) throws -> [String] {
    guard geteuid() == 0 else {
      throw Failure(
        description: "only root can run a bus as another user, and a user's own policy binds nobody")
    }
    // That user may have no access to the folder with the programs.
    let copy = folder.appending(path: "\(Kind.governed.rawValue)/tribuned").path
    try FileManager.default.copyItem(atPath: program, toPath: copy)
    for path in [folder.path, folder.appending(path: "\(Kind.governed.rawValue)").path] {
      _ = unsafe chmod(path, 0o755)
    }
    _ = unsafe chown(folder.appending(path: "\(Kind.governed.rawValue)").path, 65_534, 65_534)
    return ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy]
  }

  /// Ends the server, and returns when it has.
  func stop() {
    process.terminate()
    // Foundation's own wait needs a run loop, which no task has. This one leaves it to Foundation to reap the process.
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(process.processIdentifier), &information, WEXITED | WNOWAIT) == -1,
      errno == EINTR
    {}
  }

  /// The last line of its log, for error messages.
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
    // It listens before it has a child, and has had other children before, which end.
    for _ in 0..<500 {
      let children = try String(contentsOfFile: path, encoding: .utf8).split(separator: " ")
      if children.count == 1, let child = pid_t(children[0]),
        FileManager.default.contents(atPath: "/proc/\(child)/comm") == Data("dbus-broker\n".utf8)
      {
        return child
      }
      usleep(10_000)
    }
    throw Failure(description: "dbus-broker's launcher has not one child\(lastWords)")
  }

  /// The resident memory of a process, in bytes.
  static func residentBytes(of process: pid_t) throws -> Int {
    let path = "/proc/\(process)/status"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("VmRSS:") }),
      let kibibytes = Int(line.filter(\.isNumber))
    else { throw Failure(description: "\(path) has no VmRSS") }
    return kibibytes * 1024
  }

  /// How often all its threads together have waited. A thread that wakes up waits again.
  func waitCount() throws -> Int {
    let threads = "/proc/\(try servingProcess())/task"
    return try FileManager.default.contentsOfDirectory(atPath: threads).reduce(0) { sum, thread in
      let path = "\(threads)/\(thread)/status"
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      guard let line = lines.first(where: { $0.hasPrefix("voluntary_ctxt_switches:") }),
        let count = Int(line.filter(\.isNumber))
      else { throw Failure(description: "\(path) has no voluntary_ctxt_switches") }
      return sum + count
    }
  }

  /// The processor time of all its current threads together, in nanoseconds.
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
  /// Whether it is an alternative to Tribune.
  var isPeer: Bool {
    switch self {
    case .relay, .tribune, .crowded, .starred, .idle, .growing, .governed, .resting: false
    case .redis, .nats, .mosquitto, .dbusDaemon, .dbusBroker, .zeroMQ: true
    }
  }
}

/// The paths of the measured programs.
struct Programs {
  var tribuned = ""
  var tribunectl = ""
  var relay = ""
  /// Folders with the peers' programs, separated by colons; they are searched before PATH.
  var peers = ""
}

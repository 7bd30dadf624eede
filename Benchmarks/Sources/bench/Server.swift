// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What is measured, running on a socket of its own.
final class Server: Sendable {
  enum Kind: String, Sendable {
    case relay
    /// A bus on which nobody is but those who measure.
    case tribune
    /// One beside whose measured clients there are others, who observe names that are not posted.
    case crowded
    /// Likewise, by patterns with stars.
    case starred
    /// One to which connections come that do nothing.
    case idle
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  let kind: Kind
  let socketPath: String
  private let process = Process()

  /// Starts the program. Whoever connects waits until it listens.
  init(_ kind: Kind, program: String, in folder: URL) throws {
    self.kind = kind
    socketPath = folder.appending(path: "\(kind).socket").path
    process.executableURL = URL(filePath: program)
    switch kind {
    case .relay:
      process.arguments = [socketPath]
    case .tribune, .crowded, .starred, .idle:
      // The defaults, whatever this machine has in /etc, but for one: where much else runs, a receiver may
      // not be let run for 100 ms, and what it then lost would be nobody's fault.
      let configuration = folder.appending(path: "\(kind).config")
      try FileManager.default.createDirectory(at: configuration, withIntermediateDirectories: false)
      try Data("[Queue]\nPaceMaxSec=10s\n".utf8).write(to: configuration.appending(path: "tribuned.conf"))
      process.arguments = ["--listen=\(socketPath)", "--config=\(configuration.path)"]
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

  /// Bytes of memory that the server has resident.
  func residentBytes() throws -> Int {
    let path = "/proc/\(process.processIdentifier)/status"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("VmRSS:") }),
      let kibibytes = Int(line.filter(\.isNumber))
    else { throw Failure(description: "\(path) has no VmRSS") }
    return kibibytes * 1024
  }

  /// The processor time that the server has had, in nanoseconds.
  func processorTime() throws -> UInt64 {
    guard process.isRunning else {
      throw Failure(description: "\(process.executableURL?.path ?? "the server") has ended")
    }
    let path = "/proc/\(process.processIdentifier)/schedstat"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    guard let first = text.split(separator: " ").first, let time = UInt64(first) else {
      throw Failure(description: "\(path) does not begin with a number")
    }
    return time
  }
}

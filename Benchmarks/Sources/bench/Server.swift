// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What is measured, running on a socket of its own.
final class Server: Sendable {
  enum Kind: String, Sendable {
    case relay
    case tribune
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
    case .tribune:
      // The defaults, whatever this machine has in /etc, but for one: where much else runs, a receiver may
      // not be let run for 100 ms, and what it then lost would be nobody's fault.
      let configuration = folder.appending(path: "config")
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

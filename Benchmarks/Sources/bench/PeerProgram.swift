// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The program of a peer: its path on this machine, and its version.
struct PeerProgram {
  let path: String
  /// As the program prints it.
  let version: String

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameter folders: folders to search before `PATH`, separated by colons: where `tools/setup bench` puts what it
  ///   does not install.
  /// - Throws: `Failure` if it is not installed or cannot run.
  init(_ kind: Server.Kind, peers folders: String) throws {
    let (command, option) = Self.command(of: kind)
    path = try Self.find(command, in: folders)
    version = try Self.version(of: path, option)
  }

  static func find(_ command: String, in folders: String) throws -> String {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    // Debian has servers in /usr/sbin, which is not in every user's path.
    let all = "\(folders):\(path):/usr/sbin:/usr/local/sbin".split(separator: ":")
    guard let found = all.map({ "\($0)/\(command)" }).first(where: FileManager.default.isExecutableFile)
    else { throw Failure(description: "there is no \(command) here: tools/setup bench gets it") }
    return found
  }

  private static func command(of kind: Server.Kind) -> (command: String, versionOption: String) {
    switch kind {
    case .redis: ("redis-server", "--version")
    case .nats: ("nats-server", "--version")
    case .mosquitto: ("mosquitto", "-h")
    case .dbusDaemon: ("dbus-daemon", "--version")
    case .dbusBroker: ("run-dbus-broker", "--version")
    case .zeroMQ: ("zmq-proxy", "--version")
    case .relay, .tribune, .crowded, .starred, .idle, .growing, .governed, .resting:
      preconditionFailure("\(kind) is one of our own programs")
    }
  }

  /// The first number that the program prints. Its exit status means nothing: some programs fail when they are asked
  /// for their version.
  private static func version(of program: String, _ option: String) throws -> String {
    let process = Process()
    let output = Pipe()
    let complaint = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = [option]
    process.standardOutput = output
    process.standardError = complaint
    try process.run()
    let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    if let version = said.firstMatch(of: /[0-9]+(\.[0-9]+)*/) { return String(version.output.0) }
    let reason = String(decoding: try complaint.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    throw Failure(
      description: reason.isEmpty
        ? "\(program) does not say its version" : reason.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}

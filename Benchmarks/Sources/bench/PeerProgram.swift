// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The program of a server that is not ours: where it is on this machine, and which version.
struct PeerProgram: Codable, Equatable {
  let path: String
  /// As the program says it.
  let version: String

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameter folders: where to look before `PATH`, separated like those there: where `tools/setup bench`
  ///   puts what it does not install.
  /// - Throws: `Failure`, too, if it is not here or cannot run here.
  init(_ kind: Server.Kind, peers folders: String) throws {
    let (command, option) = Self.command(of: kind)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    // Where Debian has servers is not in everybody's path.
    let all = "\(folders):\(path):/usr/sbin:/usr/local/sbin".split(separator: ":")
    guard let found = all.map({ "\($0)/\(command)" }).first(where: FileManager.default.isExecutableFile)
    else { throw Failure(description: "there is no \(command) here: tools/setup bench gets it") }
    self.path = found
    version = try Self.version(of: found, option)
  }

  private static func command(of kind: Server.Kind) -> (command: String, versionOption: String) {
    switch kind {
    case .redis: ("redis-server", "--version")
    case .nats: ("nats-server", "--version")
    case .mosquitto: ("mosquitto", "-h")
    case .dbusDaemon: ("dbus-daemon", "--version")
    case .dbusBroker: ("run-dbus-broker", "--version")
    case .relay, .tribune, .crowded, .starred, .idle, .growing, .resting:
      preconditionFailure("\(kind) is one of our own programs")
    }
  }

  /// The first number in what the program prints. The exit status tells nothing: not all think that asking for
  /// the version is a success.
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

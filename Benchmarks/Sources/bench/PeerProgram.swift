// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The program of a server that is not ours: where it is on this machine, and which version.
struct PeerProgram: Codable, Equatable {
  /// What the table calls it.
  let name: String
  let path: String
  /// As the program says it.
  let version: String

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameter folder: where `tools/setup bench` puts what it does not install.
  init(_ kind: Server.Kind, peers folder: String) throws {
    let (command, option) = Self.command(of: kind)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    // Where Debian has servers is not in everybody's path.
    let folders = [folder] + path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
    guard let found = folders.map({ "\($0)/\(command)" }).first(where: FileManager.default.isExecutableFile)
    else { throw Failure(description: "there is no \(command) here: tools/setup bench gets it") }
    self.path = found
    name = command
    version = try Self.version(said: Self.output(of: found, option), by: command)
  }

  private static func command(of kind: Server.Kind) -> (String, versionOption: String) {
    switch kind {
    case .redis: ("redis-server", "--version")
    case .nats: ("nats-server", "--version")
    case .mosquitto: ("mosquitto", "-h")
    case .dbusDaemon: ("dbus-daemon", "--version")
    case .relay, .tribune, .crowded, .starred, .idle:
      preconditionFailure("\(kind) is one of our own programs")
    }
  }

  private static func version(said text: String, by command: String) throws -> String {
    guard let version = text.firstMatch(of: /[0-9]+(\.[0-9]+)*/) else {
      throw Failure(description: "\(command) does not say its version, but: \(text)")
    }
    return String(version.output.0)
  }

  /// What the program prints, whatever its exit status.
  private static func output(of program: String, _ option: String) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = [option]
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
    return String(decoding: said, as: UTF8.self)
  }
}

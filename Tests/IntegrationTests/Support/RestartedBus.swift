// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneWire

/// A real daemon whose descriptors outlive it: what starts and ends it keeps them as systemd does
/// (`service-manager.py`).
final class RestartedBus {
  let folder: TestFolder
  private let process = Process()
  private let commands = Pipe()
  private let answers = RunningProgram.Output()
  private(set) var pid: Int32 = 0

  var path: String { "\(folder.path)/bus" }
  var address: String { "unix:\(path)" }

  /// Starts the daemon.
  ///
  /// - Parameters:
  ///   - configuration: the text of tribuned.conf.
  ///   - room: descriptors that are kept.
  init(configuration: String = "", room: Int = 20_000, environment: [String: String] = [:]) throws {
    folder = try TestFolder()
    try folder.write(configuration, to: "etc/tribuned.conf")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("service-manager.py").path
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", script, folder.path, try Programs.path(of: "tribuned"), "--config=\(folder.path)/etc",
    ]
    var variables = ProcessInfo.processInfo.environment
    variables["TRIBUNE_FDSTORE"] = "\(room)"
    process.environment = variables.merging(environment) { $1 }
    process.standardInput = commands
    process.standardOutput = answers.pipe
    try process.run()
    try answers.pipe.fileHandleForWriting.close()
    try start()
  }

  deinit {
    do { try commands.fileHandleForWriting.close() } catch { print("cannot close: \(error)") }
    process.waitUntilExit()
  }

  /// Has something done (see `service-manager.py`).
  ///
  /// - Returns: the words of the answer.
  @discardableResult
  func command(_ line: String) throws -> [String] {
    try commands.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    guard let answer = try answers.line() else { throw Programs.Missing(description: "\(line): no answer") }
    let words = answer.split(separator: " ").map(String.init)
    if words.first == "failed" { throw Programs.Missing(description: "\(line): \(answer)") }
    return words
  }

  func start() throws {
    let answer = try command("start")
    guard answer.first == "ready", let pid = answer.last.flatMap({ Int32($0) }) else {
      throw Programs.Missing(description: "the daemon does not become ready: \(answer)\n\(try log())")
    }
    self.pid = pid
  }

  /// Ends the daemon, and waits for that.
  ///
  /// - Returns: its exit status, or the signal that ended it, negated.
  @discardableResult
  func end(_ signal: CInt) throws -> Int32 {
    let answer = try command("end \(signal)")
    return answer.last.flatMap { Int32($0) } ?? 0
  }

  /// A planned restart.
  func restart() throws {
    let status = try end(SIGTERM)
    guard status == 0 else {
      throw Programs.Missing(description: "the daemon ends with \(status)\n\(try log())")
    }
    try start()
  }

  /// The daemon dies, when all its connections are kept and nothing of what was done before is under way.
  ///
  /// Connections are kept in the order in which they were accepted, so that all are when the last one is. Their number
  /// would not say that: connections whose clients have gone are kept until the manager notices. A state that is full
  /// has no room for one more, and so for none that would have to be waited for.
  func die() throws {
    let probe = try RawClient(path: path, isNamed: true)
    let id = try probe.greet().connection
    if try probe.entry(of: id)?.isSurviving == true { try command("keeps \(try probe.name())") }
    try end(SIGKILL)
  }

  /// The daemon dies, and another one is started.
  func crash() throws {
    try die()
    try start()
  }

  /// How many descriptors are kept, by name.
  func stored() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for word in try command("stored").dropFirst() {
      let parts = word.split(separator: "=")
      counts[String(parts[0])] = Int(parts[1])
    }
    return counts
  }

  /// Ends the daemon as planned: what it has had stored, or taken out, is known then.
  ///
  /// - Returns: how many files are kept, beside the one with what was under way.
  func endCountingFiles() throws -> Int {
    try end(SIGTERM)
    return try stored().filter { $0.key.hasPrefix("f") }.values.reduce(0, +) - 1
  }

  func log() throws -> String { try folder.read("log") }
}

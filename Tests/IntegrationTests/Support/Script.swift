// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneSystem

/// A program or script that the repository keeps for its users, run to its end.
struct Script {
  let status: Int32
  /// What it wrote to standard output and standard error.
  let output: String

  static var repository: URL {
    URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  /// Runs a command in the repository's folder.
  ///
  /// - Parameters:
  ///   - arguments: the first is looked up as a shell does, from that folder.
  ///   - environment: variables beside those of the test.
  static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Script {
    // The deadline only guards against hanging: what runs has deadlines of its own.
    let start = [
      "timeout", "\(3 * Programs.patienceSeconds)", "bash", "-c", "cd \"$0\" && exec \"$@\" 2>&1",
      repository.path,
    ]
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let child = try ChildProcess(
      (start + arguments).map { Array($0.utf8) },
      environment: variables.map { Array("\($0)=\($1)".utf8) },
      input: .bytes([]), output: .captured(limit: 1 << 20),
      // A thread of the test's blocks signals, which the script must get.
      signalMask: SignalMask([]))
    let ending = await child.ended()
    return Script(
      status: ending.termination.shellStatus, output: String(decoding: ending.output, as: UTF8.self))
  }
}

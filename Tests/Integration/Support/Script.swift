// SPDX-License-Identifier: Apache-2.0

import Foundation
import TribuneSystem

struct Script {
  let status: Int32
  let output: String

  static var repository: URL {
    URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }

  static func text(of file: String) throws -> String {
    try String(contentsOf: repository.appending(path: file), encoding: .utf8)
  }

  static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Script {
    // The time-out only guards against hanging: the scripts have deadlines.
    let start = [
      "timeout", "\(3 * Programs.patienceSeconds)", "bash", "-c", "cd \"$0\" && exec \"$@\" 2>&1",
      repository.path,
    ]
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let child = try ChildProcess(
      (start + arguments).map { Array($0.utf8) },
      environment: variables.map { Array("\($0)=\($1)".utf8) },
      input: .bytes([]), output: .captured(limit: 1 << 20),
      // The script must get the signals that the test's thread may block.
      signalMask: SignalMask([]))
    let ending = await child.ended()
    return Script(
      status: ending.termination.shellStatus, output: String(decoding: ending.output, as: UTF8.self))
  }
}

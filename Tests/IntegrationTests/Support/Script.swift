// SPDX-License-Identifier: Apache-2.0

import Foundation

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
  /// - Parameter arguments: the first is looked up as a shell does, from that folder.
  static func run(
    _ arguments: [String], environment: [String: String] = [:], in folder: TestFolder
  ) throws -> Script {
    let outputPath = "\(folder.path)/output-\(UInt32.random(in: .min ... .max))"
    guard FileManager.default.createFile(atPath: outputPath, contents: nil),
      let output = FileHandle(forWritingAtPath: outputPath)
    else { throw Programs.Missing(description: "cannot write \(outputPath)") }

    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // Only guards against hanging: what runs has deadlines of its own.
    process.arguments = ["timeout", "\(3 * Programs.patienceSeconds)"] + arguments
    process.currentDirectoryURL = repository
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    return Script(
      status: process.terminationStatus, output: try String(contentsOfFile: outputPath, encoding: .utf8))
  }
}

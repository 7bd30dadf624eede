// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program that has been run to its end.
struct FinishedProgram {
  /// The exit status, or the signal that ended it, negated.
  let status: Int32
  let output: String
  let errors: String

  var lines: [Substring] { output.split(separator: "\n") }

  /// Runs a command and waits for it.
  ///
  /// - Parameters:
  ///   - command: the program's path and its arguments.
  ///   - environment: variables beside those of the test.
  init(_ command: [String], environment: [String: String] = [:]) throws {
    let folder = try TestFolder()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // Only guards against hanging.
    process.arguments = ["timeout", "--foreground", "\(Programs.patienceSeconds)"] + command
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try folder.open("output")
    process.standardError = try folder.open("errors")
    try process.run()
    process.waitUntilExit()
    status =
      process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    output = try folder.read("output")
    errors = try folder.read("errors")
  }

  /// The only line of the output, as a JSON object.
  func object() throws -> [String: Any] { try jsonObject(output) }

  /// Runs the daemon, which is expected not to stay.
  static func tribuned(
    _ arguments: [String], environment: [String: String] = [:], wrapper: [String] = []
  ) throws -> FinishedProgram {
    try FinishedProgram(wrapper + [Programs.path(of: "tribuned")] + arguments, environment: environment)
  }
}

extension TestFolder {
  /// A new file to write to.
  func open(_ name: String) throws -> FileHandle {
    let file = "\(path)/\(name)"
    guard FileManager.default.createFile(atPath: file, contents: nil),
      let handle = FileHandle(forWritingAtPath: file)
    else { throw Programs.Missing(description: "cannot write \(file)") }
    return handle
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

struct FinishedProgram {
  /// Negative for a signal that ended it.
  let status: Int32
  let output: String
  let errors: String

  var lines: [Substring] { output.split(separator: "\n") }

  init(_ command: [String], environment: [String: String] = [:]) throws {
    let folder = try TestFolder()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // The time-out only guards against hanging.
    process.arguments = ["timeout", "--foreground", "\(Programs.patienceSeconds)"] + command
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try folder.open("output")
    process.standardError = try folder.open("errors")
    try process.runUnblocked()
    status = process.statusAtEnd()
    output = try folder.read("output")
    errors = try folder.read("errors")
  }

  func object() throws -> [String: Any] { try jsonObject(output) }

  func expect(
    _ status: Int32, output: String? = nil, errors: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(self.status == status, "\(self)", sourceLocation: sourceLocation)
    if let output { #expect(self.output == output, sourceLocation: sourceLocation) }
    if let errors { #expect(self.errors == errors, sourceLocation: sourceLocation) }
  }

  func outcomes() throws -> [[String: Any]] { try #require(try object()["outcomes"] as? [[String: Any]]) }

  static func tribuned(
    _ arguments: [String], environment: [String: String] = [:], wrapper: [String] = []
  ) throws -> FinishedProgram {
    try FinishedProgram(wrapper + [Programs.path(of: "tribuned")] + arguments, environment: environment)
  }
}

extension TestFolder {
  func open(_ name: String) throws -> FileHandle {
    let file = "\(path)/\(name)"
    guard FileManager.default.createFile(atPath: file, contents: nil),
      let handle = FileHandle(forWritingAtPath: file)
    else { throw Programs.Missing(description: "cannot write \(file)") }
    return handle
  }
}

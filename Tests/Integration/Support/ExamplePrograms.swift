// SPDX-License-Identifier: Apache-2.0

import Foundation

enum ExamplePrograms {
  static var folder: URL { Script.repository.appending(path: "Examples") }

  private static let built = Result {
    let build = Process()
    let output = Pipe()
    build.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    build.arguments = ["swift", "build", "--package-path", folder.path]
    build.standardOutput = output
    build.standardError = output
    try build.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    guard build.statusAtEnd() == 0 else {
      throw Programs.Missing(description: String(decoding: text, as: UTF8.self))
    }
  }

  static func start(_ name: String, _ arguments: String..., on bus: TestBus) throws -> RunningProgram {
    try start([folder.appending(path: ".build/debug/\(name)").path] + arguments, on: bus)
  }

  static func start(asShown command: String, on bus: TestBus) throws -> RunningProgram {
    try start(command.split(separator: " ").map { String($0) }, on: bus)
  }

  private static func start(_ command: [String], on bus: TestBus) throws -> RunningProgram {
    try built.get()
    // Otherwise the programs would buffer their output, since it is a pipe.
    let unbuffered = ["/usr/bin/env", "--chdir=\(Script.repository.path)", "stdbuf", "-oL"]
    return try RunningProgram(
      unbuffered + command, environment: ["TRIBUNE_ADDRESS": bus.address], input: Pipe())
  }
}

extension RunningProgram {
  func type(_ line: String) throws {
    try input?.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  func nextLine() throws -> String {
    guard let line = try output.line() else {
      throw Programs.Missing(description: "the program has closed its output: \(try errors.rest())")
    }
    return line
  }

  func read(to wanted: String) throws {
    var skipped: [String] = []
    while let line = try output.line() {
      if line == wanted { return }
      skipped.append(line)
    }
    throw Programs.Missing(description: "the program did not say \"\(wanted)\", but \(skipped)")
  }
}

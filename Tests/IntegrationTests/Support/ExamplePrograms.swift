// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The programs in Examples/, built once.
enum ExamplePrograms {
  static var folder: URL { Script.repository.appending(path: "Examples") }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let built = Result {
    let build = Process()
    let output = Pipe()
    build.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    build.arguments = ["swift", "build", "--package-path", folder.path]
    build.standardOutput = output
    build.standardError = output
    try build.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    build.waitUntilExit()
    guard build.terminationStatus == 0 else {
      throw Failure(description: String(decoding: text, as: UTF8.self))
    }
  }

  /// Starts a program on a bus.
  static func start(_ name: String, _ arguments: String..., on bus: TestBus) throws -> ExampleProgram {
    try built.get()
    // Line by line, also into a pipe.
    let program = folder.appending(path: ".build/debug/\(name)").path
    return try ExampleProgram(["stdbuf", "-oL", program] + arguments, on: bus)
  }

  /// Starts a program as the README shows it.
  static func start(asShown command: String, on bus: TestBus) throws -> ExampleProgram {
    try built.get()
    return try ExampleProgram(["stdbuf", "-oL"] + command.split(separator: " ").map { String($0) }, on: bus)
  }
}

/// A running example, ended with its last user.
final class ExampleProgram {
  private let process = Process()
  private let input = Pipe()
  private let lines: AsyncStream<String>

  fileprivate init(_ command: [String], on bus: TestBus) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(["TRIBUNE_ADDRESS": bus.address]) { $1 }
    process.currentDirectoryURL = Script.repository
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let (lines, continuation) = AsyncStream<String>.makeStream()
    self.lines = lines
    let handle = output.fileHandleForReading
    Foundation.Thread.detachNewThread {
      var held = Data()
      while true {
        let data = handle.availableData
        if data.isEmpty { break }
        held.append(data)
        while let end = held.firstIndex(of: UInt8(ascii: "\n")) {
          continuation.yield(String(decoding: held[..<end], as: UTF8.self))
          held = Data(held[(end + 1)...])
        }
      }
      continuation.finish()
    }
  }

  deinit {
    if process.isRunning {
      process.terminate()
      process.waitUntilExit()
    }
  }

  var pid: Int32 { process.processIdentifier }

  /// Types a line.
  func type(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  func nextLine() async throws -> String {
    for await line in lines { return line }
    throw ExamplePrograms.Failure(description: "the program said no more")
  }

  /// Goes past lines until the one that is meant.
  func read(to meant: String) async throws {
    var passed: [String] = []
    for await line in lines {
      if line == meant { return }
      passed.append(line)
    }
    throw ExamplePrograms.Failure(description: "the program did not say \"\(meant)\", but \(passed)")
  }

  func signal(_ number: CInt) { kill(pid, number) }

  func waitForEnd() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tribune

/// The programs in Examples/ build as they stand and do what their comments say.
@Suite("The examples", .timeLimit(.minutes(5)))
struct ExamplesTests {
  @Test("the steward vetoes while a restore runs, and the observer tells what happened")
  func examples() async throws {
    let programs = try ExamplePrograms()
    let bus = try TestBus()
    let connection = try await Connection.connect(to: Address(path: bus.path))
    let observer = try programs.start("observer", ["archive/photos"], address: bus.address)
    let steward = try programs.start("steward", [], address: bus.address)
    #expect(try await observer.nextLine().hasPrefix("observing as :"))
    #expect(try await steward.nextLine().hasPrefix("attached as :"))

    #expect(try await connection.ask("archive.shouldPrune").isAllowed)
    try await connection.post("restore.begins")
    // The steward hears of it beside being asked, in no order that anybody promises.
    var verdict = try await connection.ask("archive.shouldPrune")
    while verdict.isAllowed { verdict = try await connection.ask("archive.shouldPrune") }
    #expect(verdict.outcomes.map(\.reason) == ["restores under way: 1"])
    #expect(verdict.outcomes.map(\.label) == ["steward"])
    try await connection.post("restore.ends")
    while try await !connection.ask("archive.shouldPrune").isAllowed {}

    try await connection.post("archive.didPrune", object: "archive/music")
    try await connection.post("archive.didPrune", object: "archive/photos", userInfo: #"{"freed": 7}"#)
    #expect(try await observer.nextLine() == #"archive.didPrune archive/photos {"freed": 7}"#)

    bus.stop()
    #expect(try await observer.nextLine().hasSuffix("(shuttingDown)"))
    #expect(try await steward.nextLine().hasSuffix("(shuttingDown)"))
    #expect(observer.waitForEnd() == 1)
    #expect(steward.waitForEnd() == 1)
  }

  @Test("each example is under 40 lines", arguments: ["Observer/Observer.swift", "Steward/Steward.swift"])
  func length(file: String) throws {
    let text = try String(contentsOf: ExamplePrograms.folder.appending(path: file), encoding: .utf8)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
  }
}

/// The built examples.
private struct ExamplePrograms {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Examples")

  struct BuildFailure: Error, CustomStringConvertible {
    let description: String
  }

  init() throws {
    let build = Process()
    let output = Pipe()
    build.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    build.arguments = ["swift", "build", "--package-path", Self.folder.path]
    build.standardOutput = output
    build.standardError = output
    try build.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    build.waitUntilExit()
    guard build.terminationStatus == 0 else {
      throw BuildFailure(description: String(decoding: text, as: UTF8.self))
    }
  }

  func start(_ name: String, _ arguments: [String], address: String) throws -> ExampleProgram {
    // Line by line, also into a pipe.
    let program = Self.folder.appending(path: ".build/debug/\(name)").path
    return try ExampleProgram(["stdbuf", "-oL", program] + arguments, address: address)
  }
}

/// A running example, ended with its last user.
private final class ExampleProgram {
  private let process = Process()
  private let lines: AsyncStream<String>

  init(_ command: [String], address: String) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(["TRIBUNE_ADDRESS": address]) { $1 }
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

  func nextLine() async throws -> String {
    for await line in lines { return line }
    throw ExamplePrograms.BuildFailure(description: "the program said no more")
  }

  func waitForEnd() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

final class RunningProgram: StartedProgram {
  final class Output {
    let pipe = Pipe()
    private var pending: [UInt8] = []
    private var isAtEnd = false

    func line() throws -> String? {
      while true {
        if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
          defer { pending.removeSubrange(...end) }
          return String(decoding: pending[..<end], as: UTF8.self)
        }
        if isAtEnd {
          defer { pending = [] }
          return pending.isEmpty ? nil : String(decoding: pending, as: UTF8.self)
        }
        try readMore()
      }
    }

    func rest() throws -> String {
      while !isAtEnd { try readMore() }
      defer { pending = [] }
      return String(decoding: pending, as: UTF8.self)
    }

    private var descriptor: CInt { pipe.fileHandleForReading.fileDescriptor }

    private func readMore() throws {
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&watched, 1, CInt(Programs.patienceSeconds * 1000)) > 0 else {
        throw Programs.Missing(
          description: "nothing was written; so far: \(String(decoding: pending, as: UTF8.self))")
      }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
      if count > 0 { pending += bytes[..<count] } else { isAtEnd = true }
    }
  }

  let process = Process()
  let input: Pipe?
  let output = Output()
  let errors = Output()

  init(_ command: [String], environment: [String: String] = [:], input: Pipe? = nil) throws {
    self.input = input
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = input ?? FileHandle.nullDevice
    process.standardOutput = output.pipe
    process.standardError = errors.pipe
    try process.runUnblocked()
    // Otherwise the output would not end with the program.
    try output.pipe.fileHandleForWriting.close()
    try errors.pipe.fileHandleForWriting.close()
  }

  deinit { killIfRunning() }

  func stopReading() throws { try output.pipe.fileHandleForReading.close() }
}

extension RunningProgram.Output {
  func object() throws -> [String: Any] { try jsonObject(line() ?? "") }
}

func jsonObject(_ text: some StringProtocol) throws -> [String: Any] {
  guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
    throw Programs.Missing(description: "no JSON object: \(text)")
  }
  return object
}

extension TestBus {
  static func tribunectl(
    _ arguments: [String], address: String, environment: [String: String] = [:]
  ) throws -> FinishedProgram {
    try FinishedProgram(
      [Programs.path(of: "tribunectl")] + arguments,
      environment: ["TRIBUNE_ADDRESS": address].merging(environment) { $1 })
  }

  func tribunectl(_ arguments: String..., environment: [String: String] = [:]) throws -> FinishedProgram {
    try Self.tribunectl(arguments, address: address, environment: environment)
  }

  func start(_ arguments: String...) throws -> RunningProgram { try start(arguments) }

  func start(_ arguments: [String], environment: [String: String] = [:]) throws -> RunningProgram {
    try RunningProgram(
      [try Programs.path(of: "tribunectl")] + arguments,
      environment: ["TRIBUNE_ADDRESS": address].merging(environment) { $1 })
  }

  /// Waits until tribunectl reports on standard error that it is ready. It runs as long as the bus.
  @discardableResult
  func staying(_ arguments: String...) throws -> RunningProgram { try staying(arguments) }

  @discardableResult
  func staying(_ arguments: [String]) throws -> RunningProgram {
    let program = try start(arguments)
    companions.append(program)
    let line = try program.errors.line()
    guard let line,
      ["observing ", "attached ", "monitoring ", "capturing ", "holding ", "declared "].contains(
        where: line.hasPrefix), line.hasSuffix(", on \(address)")
    else { throw Programs.Missing(description: "\(arguments) is not ready: \(line ?? "")") }
    return program
  }
}

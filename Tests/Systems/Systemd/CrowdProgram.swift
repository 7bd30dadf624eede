// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

final class CrowdProgram {
  struct Size {
    var observers = 0
    var posters = 0
    var delegates = 0
    var askers = 0
    var holders = 0

    var clients: Int { observers + posters + delegates + askers + holders }

    fileprivate var arguments: [String] {
      [observers, posters, delegates, askers, holders].map { String($0) }
    }
  }

  enum Side: String {
    case inside
    case outside
  }

  let side: Side
  private(set) var connections: [String] = []
  private let input = Pipe()
  private let program: RunningProgram

  init(_ side: Side, of size: Size, seed: UInt64, at machine: Container) throws {
    self.side = side
    let arguments = [side.rawValue, String(seed)] + size.arguments
    program =
      switch side {
      case .inside:
        try machine.start(
          "systemd-run",
          [
            "--quiet", "--pipe", "--wait", "--collect", "--unit=crowd", "--property=DynamicUser=yes", "crowd",
          ] + arguments, input: input)
      case .outside:
        try RunningProgram(
          [try Programs.path(of: "crowd")] + arguments,
          environment: ["TRIBUNE_ADDRESS": "unix:\(machine.path)"], input: input)
      }
    let told = try lines(to: "ready")
    connections = told.filter { $0.hasPrefix("connection ") }.map {
      String($0.dropFirst("connection ".count))
    }
    try #require(connections.count == size.clients, "\(told)")
  }

  func say(_ command: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(command)\n".utf8))
  }

  func say(_ command: String, until answer: String) throws {
    try say(command)
    _ = try lines(to: answer)
  }

  func progress(_ count: Int) throws {
    for _ in 0..<count { _ = try lines(to: "progress") }
  }

  func lines(to last: String) throws -> [String] {
    var lines: [String] = []
    do {
      while let line = try program.output.line() {
        if line == last { return lines }
        lines.append(line)
      }
    } catch {
      throw Programs.Missing(
        description: "the crowd \(side) does not come to say \"\(last)\"; before it: \(lines.suffix(5))")
    }
    throw Programs.Missing(
      description:
        "the crowd \(side) ends before \"\(last)\": \(lines.suffix(5)) \(try program.errors.rest())")
  }
}

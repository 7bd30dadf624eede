// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TribuneSystem

/// A program at a pseudo-terminal, whose other end the test has.
final class TerminalSession: StartedProgram {
  private let screen: FileDescriptor
  let process = Process()
  private var pending: [UInt8] = []

  /// `output` nil is the terminal.
  init(_ command: [String], environment: [String: String] = [:], output: FileHandle? = nil) throws {
    var ends: (screen: CInt, program: CInt) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
    guard unsafe openpty(&ends.screen, &ends.program, nil, nil, &size) == 0 else { throw Errno.current }
    screen = FileDescriptor(owning: ends.screen)
    _ = fcntl(ends.screen, F_SETFD, FD_CLOEXEC)
    let program = FileHandle(fileDescriptor: ends.program, closeOnDealloc: true)
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ProcessInfo.processInfo.environment
      .merging(["TERM": "xterm", "NO_COLOR": "1"]) { $1 }.merging(environment) { $1 }
    process.standardInput = program
    process.standardOutput = output ?? program
    process.standardError = program
    try process.runUnblocked()
    try program.close()
  }

  deinit { killIfRunning() }

  func type(_ text: String) throws {
    let bytes = Array(text.utf8)
    let terminal = screen.rawValue
    var written = 0
    while written < bytes.count {
      let rest = Array(bytes[written...])
      written += try retrying { unsafe write(terminal, rest, rest.count) }
    }
  }

  @discardableResult
  func read(to text: String) throws -> String {
    let wanted = Array(text.utf8)
    while true {
      if let range = pending.firstRange(of: wanted) {
        defer { pending.removeSubrange(..<range.upperBound) }
        return String(decoding: pending[..<range.upperBound], as: UTF8.self)
      }
      guard try readMore() else {
        throw Programs.Missing(
          description:
            "\"\(text)\" has not come, but \(String(decoding: pending, as: UTF8.self).debugDescription)")
      }
    }
  }

  func rest() throws -> String {
    while try readMore() {}
    defer { pending = [] }
    return String(decoding: pending, as: UTF8.self)
  }

  private func readMore() throws -> Bool {
    var watched = pollfd(fd: screen.rawValue, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&watched, 1, CInt(Programs.patienceSeconds * 1000)) > 0 else {
      throw Programs.Missing(
        description:
          "nothing was written; so far: \(String(decoding: pending, as: UTF8.self).debugDescription)")
    }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(screen.rawValue, &bytes, bytes.count)
    // At the end, a terminal fails with EIO.
    if count > 0 { pending += bytes[..<count] }
    return count > 0
  }
}

extension TestBus {
  func terminal(_ arguments: String...) throws -> TerminalSession { try terminal(arguments) }

  func terminal(_ arguments: [String], environment: [String: String] = [:]) throws -> TerminalSession {
    try TerminalSession(
      [try Programs.path(of: "tribunectl")] + arguments,
      environment: ["TRIBUNE_ADDRESS": address].merging(environment) { $1 })
  }
}

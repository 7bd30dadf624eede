// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Foundation

/// Times of whole processes.
enum ProcessTimes {
  /// How long each of `count` consecutive runs of `tribunectl ask` took, from the spawn of the process until it ended
  /// with the status for "allowed".
  static func asks(_ count: Int, by tribunectl: String, on server: Server) throws -> [UInt64] {
    try questions(
      count, [tribunectl, "ask", "bench.shouldRun", "--object=bench/1"],
      ["TRIBUNE_ADDRESS": "unix:\(server.address)"], on: server)
  }

  /// The same of `busctl call`, whose answer is a boolean.
  static func calls(_ count: Int, by busctl: String, on server: Server) throws -> [UInt64] {
    try questions(
      count,
      [
        busctl, "--address=unix:path=\(server.address)", "call", "bench.Responder", "/bench",
        "bench.Responder",
        "MayRun",
      ], [:], on: server)
  }

  /// How long each of `count` daemons took from the spawn of the process until its READY=1. Each ends before the next
  /// one starts.
  ///
  /// - Parameter kind: a bus, or dbus-daemon, which sends READY=1, too.
  static func starts(_ count: Int, of program: String, as kind: Server.Kind) throws -> [UInt64] {
    try (0..<count).map { _ in try FreshDaemon.run(program, as: kind) { $0.startDuration } }
  }

  private static func questions(
    _ count: Int, _ command: [String], _ variables: [String: String], on server: Server
  ) throws -> [UInt64] {
    try Responder.around(server, answering: count) {
      try (0..<count).map { _ in
        let program = try SpawnedProgram(command, variables: variables)
        let isAnswered = program.waitForEnd()
        let duration = program.age
        guard isAnswered else {
          throw SpawnedProgram.Failure(description: "\(command.joined(separator: " ")) did not get a yes")
        }
        return duration
      }
    }
  }
}

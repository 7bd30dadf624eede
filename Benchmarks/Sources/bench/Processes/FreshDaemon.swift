// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Foundation

/// A daemon that has just started, on its own socket.
struct FreshDaemon {
  private let process: SpawnedProgram
  private let address: String
  /// From the spawn of the process until its READY=1, in nanoseconds.
  let startDuration: UInt64

  /// Runs `body` with a daemon that is ready, and ends it.
  static func run<Result>(
    _ program: String, as kind: Server.Kind, _ body: (FreshDaemon) throws -> Result
  ) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tribune-bench.\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let daemon = Swift.Result { try FreshDaemon(program, as: kind, in: folder) }
    let result = daemon.flatMap { daemon in Swift.Result { try body(daemon) } }
    let ended = Swift.Result { try daemon.get().end(program) }
    try FileManager.default.removeItem(at: folder)
    // The first failure is reported.
    let value = try result.get()
    try ended.get()
    return value
  }

  private init(_ program: String, as kind: Server.Kind, in folder: URL) throws {
    let settings = try Server.Settings(kind, in: folder)
    let socket = try ReadySocket(path: folder.appending(path: "notify").path)
    address = settings.address
    process = try SpawnedProgram([program] + settings.arguments, variables: ["NOTIFY_SOCKET": socket.path])
    do {
      try socket.waitUntilReady()
    } catch {
      kill(process.pid, SIGKILL)
      _ = process.waitForEnd()
      throw error
    }
    startDuration = process.age
  }

  private func end(_ program: String) throws {
    kill(process.pid, SIGTERM)
    guard process.waitForEnd() else {
      throw SpawnedProgram.Failure(description: "\(program) did not end in order")
    }
  }

  /// Its resident bytes, after a pause in which it can free what it needed to start.
  func restingBytes() throws -> Int {
    usleep(200_000)
    return try residentBytes()
  }

  private func residentBytes() throws -> Int { try Server.residentBytes(of: process.pid) }

  /// The resident bytes for each of so many idle connections. Others come and go before, so that memory that is needed
  /// once is not counted.
  func residentBytesEach(of connections: Int) throws -> Double {
    try hold(100) {}
    let before = try residentBytes()
    let after = try hold(connections) { try residentBytes() }
    return Double(after - before) / Double(connections)
  }

  private func hold<Result>(_ connections: Int, _ body: () throws -> Result) throws -> Result {
    var failure = driver_failure()
    guard let crowd = unsafe driver_crowd_open(address, connections, 0, false, &failure) else {
      throw Absence(reason: failure.message, isLoss: true)
    }
    let result = Swift.Result { try body() }
    guard unsafe driver_crowd_close(crowd, &failure) == 0 else {
      throw Absence(reason: failure.message, isLoss: true)
    }
    return try result.get()
  }
}

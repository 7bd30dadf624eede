// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// The C driver's calls.
enum Driver {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// How long each of `count` round trips took, in nanoseconds.
  static func roundTrips(_ count: Int, through server: Server) throws -> [UInt64] {
    var durations = [UInt64](repeating: 0, count: count)
    try checked(server) { failure in
      unsafe driver_round_trips(server.kind.driver, server.socketPath, count, &durations, &failure)
    }
    return durations
  }

  /// How long each of `count` asks through a chain took, in nanoseconds.
  static func asks(_ count: Int, through chain: Chain, of server: Server) throws -> [UInt64] {
    var durations = [UInt64](repeating: 0, count: count)
    try checked(server) { failure in
      unsafe driver_chain(
        server.socketPath, chain.connections, chain.delegatesEach, count, &durations, &failure)
    }
    return durations
  }

  /// How long it took until `receivers` had `count` messages each, in nanoseconds.
  static func stream(_ count: Int, to receivers: Int, through server: Server) throws -> UInt64 {
    precondition(count % Int(driver_stream_batch) == 0)
    var duration: UInt64 = 0
    try checked(server) { failure in
      unsafe driver_stream(
        server.kind.driver, server.socketPath, receivers, UInt64(count), &duration, &failure)
    }
    return duration
  }

  /// How long each of `count` posts took to its observer, in nanoseconds.
  static func posts(_ count: Int, newNames: Bool, through server: Server) throws -> [UInt64] {
    var durations = [UInt64](repeating: 0, count: count)
    try checked(server) { failure in
      unsafe driver_posts(server.socketPath, newNames, count, &durations, &failure)
    }
    return durations
  }

  fileprivate static func checked(_ server: Server, _ body: (inout driver_failure) -> CInt) throws {
    var failure = driver_failure()
    if body(&failure) != 0 { throw Failure(description: "\(server.kind): \(failure.message)") }
  }
}

/// Connections that want nothing of what is sent by others.
struct Crowd: Equatable, Codable {
  var connections: Int
  var observationsEach: Int

  var observations: Int { connections * observationsEach }

  /// Runs `body` while they are there, and checks that they have been sent nothing meanwhile.
  ///
  /// - Parameter hasStars: their patterns have stars, rather than being names.
  nonisolated(nonsending) func around<Result>(
    _ server: Server, hasStars: Bool = false, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    var crowd: OpaquePointer?
    try Driver.checked(server) { failure in
      unsafe crowd = driver_crowd_open(server.socketPath, connections, observationsEach, hasStars, &failure)
      return unsafe crowd == nil ? -1 : 0
    }
    let result: Result
    do {
      result = try await body()
    } catch {
      // What went wrong first is what is told.
      var failure = driver_failure()
      _ = unsafe driver_crowd_close(crowd, &failure)
      throw error
    }
    try Driver.checked(server) { failure in unsafe driver_crowd_close(crowd, &failure) }
    return result
  }
}

extension driver_failure {
  var message: String {
    unsafe withUnsafeBytes(of: text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

extension Server.Kind {
  fileprivate var driver: driver_server {
    switch self {
    case .relay: driver_relay
    case .tribune, .crowded, .starred, .idle: driver_tribune
    }
  }
}

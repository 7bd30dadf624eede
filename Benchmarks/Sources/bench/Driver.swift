// SPDX-License-Identifier: Apache-2.0

import CBusDriver

/// The C driver's calls. Each throws a `Failure` when something that was sent did not arrive as it was sent.
enum Driver {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// A server was asked for what it cannot do, however it is set up; nothing was sent.
  struct Incapability: Error, CustomStringConvertible {
    var description: String
  }

  /// How long each of `count` round trips took, in nanoseconds.
  static func roundTrips(_ count: Int, through server: Server) throws -> [UInt64] {
    var durations = [UInt64](repeating: 0, count: count)
    try checked(server) { failure in
      unsafe driver_round_trips(server.kind.driver, server.address, count, &durations, &failure)
    }
    return durations
  }

  /// How long each of `count` asks through a chain took, in nanoseconds.
  static func asks(_ count: Int, through chain: Chain, of server: Server) throws -> [UInt64] {
    var durations = [UInt64](repeating: 0, count: count)
    try checked(server) { failure in
      unsafe driver_chain(
        server.address, chain.connections, chain.delegatesEach, count, &durations, &failure)
    }
    return durations
  }

  /// How long it took until `receivers` had `count` messages each, in nanoseconds.
  ///
  /// - Parameter bytes: of each message; see `driver_stream_payload` for what is counted.
  /// - Throws: `Incapability`, too.
  static func stream(
    _ count: Int, of bytes: Int = Int(driver_stream_bytes), to receivers: Int, through server: Server
  ) throws -> UInt64 {
    var duration: UInt64 = 0
    try checked(server) { failure in
      unsafe driver_stream(
        server.kind.driver, server.address, receivers, bytes, UInt64(count), &duration, &failure)
    }
    return duration
  }

  /// How long it took until `count` posts had arrived at all of their observers, in nanoseconds.
  ///
  /// - Throws: `Incapability`, too.
  static func mixed(_ count: Int, _ crew: Crew, through server: Server) throws -> UInt64 {
    var duration: UInt64 = 0
    try checked(server) { failure in
      unsafe driver_mixed(
        server.kind.driver, server.address, crew.posters, crew.observers, crew.names, UInt64(count),
        &duration, &failure)
    }
    return duration
  }

  /// How long each of `count` posts took to its observer, in nanoseconds.
  static func posts(_ count: Int, newNames: Bool, through server: Server) throws -> [UInt64] {
    var durations = [UInt64](repeating: 0, count: count)
    try checked(server) { failure in
      unsafe driver_posts(server.address, newNames, count, &durations, &failure)
    }
    return durations
  }

  fileprivate static func checked(_ server: Server, _ body: (inout driver_failure) -> CInt) throws {
    var failure = driver_failure()
    let result = body(&failure)
    if result == driver_done.rawValue { return }
    let description = "\(server.kind): \(failure.message)"
    if result == driver_cannot.rawValue { throw Incapability(description: description) }
    throw Failure(description: description + server.lastWords)
  }
}

/// Who takes part in the mixed work.
struct Crew: Equatable, Codable {
  /// How many observe each name.
  static let fanOut = Int(driver_mixed_fan_out)

  var posters: Int
  /// A multiple of `fanOut`, of which `names` is a multiple.
  var observers: Int
  var names: Int
}

/// Posts to others beside which something is measured.
enum Background {
  /// What has been posted, and has arrived.
  struct Amount: Equatable, Codable {
    var posted: Int
    /// Nanoseconds from the first to the last.
    var duration: UInt64
  }

  /// Runs `body` while there are so many posts a second, and checks that all of them arrive.
  nonisolated(nonsending) static func around<Result>(
    _ server: Server, postsPerSecond: Int, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> (Result, Amount) {
    var background: OpaquePointer?
    try Driver.checked(server) { failure in
      unsafe background = driver_background_start(server.address, UInt64(postsPerSecond), &failure)
      return unsafe background == nil ? driver_failed.rawValue : driver_done.rawValue
    }
    let start = driver_nanoseconds()
    var posted: UInt64 = 0
    var received: UInt64 = 0
    let result: Result
    do {
      result = try await body()
    } catch {
      // What went wrong first is what is told.
      var failure = driver_failure()
      _ = unsafe driver_background_stop(background, &posted, &received, &failure)
      throw error
    }
    try Driver.checked(server) { failure in
      unsafe driver_background_stop(background, &posted, &received, &failure)
    }
    return (result, Amount(posted: Int(posted), duration: driver_nanoseconds() - start))
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
      unsafe crowd = driver_crowd_open(server.address, connections, observationsEach, hasStars, &failure)
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
    case .redis: driver_redis
    case .nats: driver_nats
    case .mosquitto: driver_mosquitto
    case .dbusDaemon, .dbusBroker: driver_dbus
    }
  }
}

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

  /// How long it took until `receivers` had `count` messages of `bytes` each, in nanoseconds.
  static func stream(_ count: Int, of bytes: Int, to receivers: Int, through server: Server) throws -> UInt64
  {
    var duration: UInt64 = 0
    try checked(server) { failure in
      unsafe driver_stream(
        server.kind.driver, server.address, receivers, bytes, UInt64(count), &duration, &failure)
    }
    return duration
  }

  /// How long it took until all observers had what they observe of `count` posts, in nanoseconds.
  static func mixed(_ count: Int, clients: Int, names: Int, through server: Server) throws -> UInt64 {
    var duration: UInt64 = 0
    try checked(server) { failure in
      unsafe driver_mixed(
        server.kind.driver, server.address, clients, clients, names, UInt64(count), &duration, &failure)
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

  /// Runs `body` beside background posts, and returns its result with the rate of posts that was reached.
  static func besidePosts<Result>(
    aSecond rate: UInt64, on server: Server, _ body: () throws -> Result
  ) throws -> (Result, rate: Double) {
    var background: OpaquePointer?
    try checked(server) { failure in
      unsafe background = driver_background_start(server.address, rate, &failure)
      return unsafe background == nil ? CInt(driver_failed.rawValue) : CInt(driver_done.rawValue)
    }
    let began = driver_nanoseconds()
    let result = Swift.Result { try body() }
    let elapsed = driver_nanoseconds() - began
    var posted: UInt64 = 0
    var received: UInt64 = 0
    let stopped = Swift.Result {
      try checked(server) { failure in
        unsafe driver_background_stop(background, &posted, &received, &failure)
      }
    }
    // The first failure is reported.
    let value = try result.get()
    try stopped.get()
    return (value, Double(posted) / (Double(elapsed) / 1e9))
  }

  /// - Throws: `Absence` if the server cannot do this, or if something was lost.
  static func checked(_ server: Server, _ body: (inout driver_failure) -> CInt) throws {
    var failure = driver_failure()
    let result = body(&failure)
    if result == driver_done.rawValue { return }
    throw Absence(reason: failure.message + server.lastWords, isLoss: result != driver_cannot.rawValue)
  }
}

extension driver_failure {
  var message: String {
    unsafe withUnsafeBytes(of: text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}

/// The delegates of one object, which are all asked at once.
struct Chain: Equatable {
  var connections: Int
  var delegatesEach: Int
}

extension Server.Kind {
  var driver: driver_server {
    switch self {
    case .relay: driver_relay
    case .redis: driver_redis
    case .nats: driver_nats
    case .mosquitto: driver_mosquitto
    case .dbusDaemon, .dbusBroker: driver_dbus
    case .zeroMQ: driver_zmq
    case .tribune, .crowded, .starred, .idle, .growing, .governed, .resting: driver_tribune
    }
  }
}

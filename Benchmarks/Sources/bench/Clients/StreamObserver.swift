// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Tribune

/// An observer of what others than the driver post. It reads raw bytes, and checks that it gets all posts in order. The
/// driver's pointer never leaves it.
@safe
final class StreamObserver {
  /// The name to post under.
  static let name = "bench.didPost"

  private let server: Server
  private var observer: OpaquePointer?

  /// Returns once it observes.
  init(of count: Int, on server: Server) throws {
    self.server = server
    try Driver.checked(server) { failure in
      unsafe observer = driver_observer_start(
        server.address, Self.name, UInt64(count), Self.userInfoBytes, &failure)
      return unsafe CInt(observer == nil ? driver_failed.rawValue : driver_done.rawValue)
    }
  }

  /// Returns once it has all posts.
  ///
  /// - Returns: when the last one came, in nanoseconds of the monotonic clock.
  func wait() throws -> UInt64 {
    guard let observer = unsafe observer else { preconditionFailure("it is waited for once") }
    unsafe self.observer = nil
    var end: UInt64 = 0
    try Driver.checked(server) { failure in unsafe driver_observer_end(observer, true, &end, &failure) }
    return end
  }

  deinit {
    guard let observer = unsafe observer else { return }
    // Something else went wrong before, and is reported.
    var end: UInt64 = 0
    var failure = driver_failure()
    _ = unsafe driver_observer_end(observer, false, &end, &failure)
  }

  private static let userInfoBytes = driver_stream_payload(Int(driver_stream_bytes))

  /// What to post, except for the number.
  static let userInfo = (0..<userInfoBytes).map { UInt8($0 % 251) }
}

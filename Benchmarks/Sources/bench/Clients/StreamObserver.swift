// SPDX-License-Identifier: Apache-2.0

import CBusDriver
import Tribune

/// Somebody who observes what others post than the driver, in raw bytes, and wants all of it, in order.
/// The driver's pointer never leaves it.
@safe
final class StreamObserver {
  /// What has to be posted.
  static let name = "bench.didPost"

  private let server: Server
  private var observer: OpaquePointer?

  /// Returns when it observes.
  init(of count: Int, on server: Server) throws {
    self.server = server
    try Driver.checked(server) { failure in
      unsafe observer = driver_observer_start(
        server.address, Self.name, UInt64(count), Self.userInfoBytes, &failure)
      return unsafe CInt(observer == nil ? driver_failed.rawValue : driver_done.rawValue)
    }
  }

  /// Returns when it has all, with the moment, in nanoseconds of the monotonic clock.
  func wait() throws -> UInt64 {
    guard let observer = unsafe observer else { preconditionFailure("it is waited for once") }
    unsafe self.observer = nil
    var end: UInt64 = 0
    try Driver.checked(server) { failure in unsafe driver_observer_end(observer, true, &end, &failure) }
    return end
  }

  deinit {
    guard let observer = unsafe observer else { return }
    // It is not waited for because something else went wrong, and that is what is told.
    var end: UInt64 = 0
    var failure = driver_failure()
    _ = unsafe driver_observer_end(observer, false, &end, &failure)
  }

  private static let userInfoBytes = driver_stream_payload(Int(driver_stream_bytes))

  /// As the observer wants it: but for the number.
  static let userInfo = (0..<userInfoBytes).map { UInt8($0 % 251) }
}

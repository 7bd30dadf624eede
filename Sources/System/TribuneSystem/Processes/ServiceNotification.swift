// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import TribuneWire

/// Sends a single notification by the protocol of sd_notify(3).
package enum ServiceNotification {
  /// Blocks until the socket has space.
  package static func send(_ text: String, passing descriptor: CInt? = nil) throws(Errno) {
    guard ServiceSocket.isNamed else { return }
    try ServiceSocket().send(text, waits: true, passing: descriptor)
  }
}

/// A socket for notifications. It stays open, so sending needs no further descriptor.
package struct ServiceSocket: ~Copyable {
  private static let variable = "NOTIFY_SOCKET"

  private let socket: FileDescriptor

  package init() throws(Errno) { socket = try UnixSocket.make(CInt(SOCK_DGRAM.rawValue), nonblocking: false) }

  package static var isNamed: Bool { Environment.nonEmptyValue(of: variable) != nil }

  /// Sends a notification. `$NOTIFY_SOCKET` must be a path, or `@` followed by an abstract name. If the
  /// socket is full and `waits` is false, throws `Errno.again`.
  package borrowing func send(_ text: String, waits: Bool, passing passed: CInt? = nil) throws(Errno) {
    guard let name = Environment.nonEmptyValue(of: Self.variable), name.hasPrefix("/") || name.hasPrefix("@")
    else { throw Errno(rawValue: EAFNOSUPPORT) }
    let descriptor = socket.rawValue
    let flags = CInt(MSG_NOSIGNAL) | (waits ? 0 : CInt(MSG_DONTWAIT))
    unsafe try UnixSocket.withAddress(name, isAbstract: name.hasPrefix("@")) {
      address, length throws(Errno) in
      if let passed {
        _ = unsafe try UnixSocket.send(
          text.utf8Bytes, passing: [passed], through: descriptor, flags, to: address, length)
      } else {
        _ = try retrying { unsafe sendto(descriptor, text, text.utf8.count, flags, address, length) }
      }
    }
  }
}

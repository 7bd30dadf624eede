// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

extension UnixSocket {
  package enum Role: Equatable, Sendable {
    case listening
    /// A connection, even if the peer is gone.
    case connected
  }

  /// Returns nil if the descriptor is not a Unix stream socket in one of these roles.
  package static func role(of descriptor: borrowing FileDescriptor) -> Role? {
    let socket = descriptor.rawValue
    do throws(Errno) {
      // This is the first check, because most sockets are connected.
      let hasPeer = hasUnixPeer(socket)
      if !hasPeer, try option(SO_DOMAIN, of: socket, as: CInt.self) != AF_UNIX { return nil }
      guard try option(SO_TYPE, of: socket, as: CInt.self) == CInt(SOCK_STREAM.rawValue) else { return nil }
      if hasPeer { return .connected }
      return try option(SO_ACCEPTCONN, of: socket, as: CInt.self) == 0 ? nil : .listening
    } catch {
      return nil
    }
  }

  /// Returns a number that identifies the socket, even in other processes.
  package static func cookie(of descriptor: borrowing FileDescriptor) throws(Errno) -> UInt64 {
    try option(SO_COOKIE, of: descriptor.rawValue, as: UInt64.self)
  }

  private static func hasUnixPeer(_ socket: CInt) -> Bool {
    unsafe address(by: { unsafe getpeername(socket, $0, $1) })?.sun_family == sa_family_t(AF_UNIX)
  }

  private static func option<T: FixedWidthInteger & BitwiseCopyable>(
    _ option: CInt, of socket: CInt, as type: T.Type
  ) throws(Errno) -> T {
    var value: T = 0
    var length = socklen_t(MemoryLayout<T>.size)
    _ = try retrying { unsafe getsockopt(socket, SOL_SOCKET, option, &value, &length) }
    return value
  }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// sd_notify(3)'s protocol for programs that do not link libsystemd: one datagram to `$NOTIFY_SOCKET`.
package enum ServiceNotification {
  /// Tells the service manager that the program is ready, and waits until the socket has space. Does nothing without
  /// a manager.
  ///
  /// - Throws: the error if the socket that `$NOTIFY_SOCKET` names cannot be reached.
  package static func ready() throws(Errno) {
    guard ServiceSocket.isNamed else { return }
    try ServiceSocket().send("READY=1", waits: true)
  }
}

/// The socket that sends notifications. It stays open, so that a process that has no descriptor left can still
/// notify.
package struct ServiceSocket: ~Copyable {
  private static let variable = "NOTIFY_SOCKET"

  private let socket: FileDescriptor

  package init() throws(Errno) {
    socket = FileDescriptor(
      owning: try retrying {
        Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
      })
  }

  /// Whether a service manager wants notifications.
  package static var isNamed: Bool { Environment.nonEmptyValue(of: variable) != nil }

  /// Sends to the socket that `$NOTIFY_SOCKET` names now: a path, or `@` and a name in the abstract namespace.
  ///
  /// - Parameter waits: whether to wait until there is space, for any time; if not, `Errno.again` is thrown.
  package borrowing func send(_ text: String, waits: Bool) throws(Errno) {
    guard let name = Environment.nonEmptyValue(of: Self.variable), name.hasPrefix("/") || name.hasPrefix("@")
    else { throw Errno(rawValue: EAFNOSUPPORT) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    let bytes = Array(name.utf8)
    guard bytes.count < room else { throw .nameTooLong }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
      unsafe field.copyBytes(from: bytes)
      if name.hasPrefix("@") { unsafe field[0] = 0 }
    }
    // The address length delimits an abstract name.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let descriptor = socket.rawValue
    let flags = CInt(MSG_NOSIGNAL) | (waits ? 0 : CInt(MSG_DONTWAIT))
    _ = try unsafe withUnsafePointer(to: &address) { pointer throws(Errno) in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(Errno) in
        try retrying { unsafe sendto(descriptor, text, text.utf8.count, flags, pointer, length) }
      }
    }
  }
}

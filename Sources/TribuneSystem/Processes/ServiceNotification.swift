// SPDX-License-Identifier: Apache-2.0

import Glibc

/// sd_notify(3)'s protocol for programs that do not link libsystemd: one datagram to `$NOTIFY_SOCKET`.
package enum ServiceNotification {
  /// Tells the service manager that the program is ready; does nothing where there is none.
  ///
  /// - Throws: why the socket that `$NOTIFY_SOCKET` names could not be told.
  package static func ready() throws(Errno) {
    guard let path = Environment.nonEmptyValue(of: "NOTIFY_SOCKET") else { return }
    try send("READY=1", to: path)
  }

  /// - Parameter path: absolute, or a name in the abstract namespace behind an `@`.
  private static func send(_ text: String, to path: String) throws(Errno) {
    guard path.hasPrefix("/") || path.hasPrefix("@") else { throw Errno(rawValue: EAFNOSUPPORT) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    let bytes = Array(path.utf8)
    guard bytes.count < room else { throw .nameTooLong }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
      unsafe field.copyBytes(from: bytes)
      if path.hasPrefix("@") { unsafe field[0] = 0 }
    }
    // The length tells how much of an abstract name counts.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let socket = FileDescriptor(
      owning: try retrying {
        Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
      })
    let descriptor = socket.rawValue
    _ = try unsafe withUnsafePointer(to: &address) { pointer throws(Errno) in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(Errno) in
        try retrying {
          unsafe sendto(descriptor, text, text.utf8.count, CInt(MSG_NOSIGNAL), pointer, length)
        }
      }
    }
  }
}

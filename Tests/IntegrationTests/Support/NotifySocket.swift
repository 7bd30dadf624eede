// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

/// The service manager's end of sd_notify(3).
final class NotifySocket {
  let path: String
  private let descriptor: FileDescriptor
  /// What was received and not yet looked at.
  private var pending: [String] = []

  init(path: String) throws {
    self.path = path
    let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    descriptor = FileDescriptor(owning: try retrying { socket(AF_UNIX, type, 0) })
    try UnixSocket.bind(descriptor, to: path)
    try descriptor.setReceiveTimeout(seconds: Programs.patienceSeconds)
  }

  /// The next notification, each assignment a line.
  ///
  /// - Throws: `Errno.again` when none comes.
  func next() throws -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let socket = descriptor.rawValue
    let count = try retrying { unsafe recv(socket, &bytes, bytes.count, 0) }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// Waits for a notification with this assignment, going past others.
  ///
  /// - Returns: the whole notification.
  @discardableResult
  func wait(for assignment: String) throws -> String {
    while true {
      let notification = try next()
      if notification.split(separator: "\n").contains(Substring(assignment)) { return notification }
    }
  }
}

extension FileDescriptor {
  /// Has reads fail with EAGAIN after that long.
  func setReceiveTimeout(seconds: Int) throws {
    var timeout = timeval(tv_sec: seconds, tv_usec: 0)
    let descriptor = rawValue
    _ = try retrying {
      unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }
  }
}

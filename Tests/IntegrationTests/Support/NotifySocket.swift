// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

/// The service manager's end of sd_notify(3).
final class NotifySocket {
  let path: String
  private let descriptor: FileDescriptor
  /// All notifications that were taken, in order.
  private(set) var received: [String] = []

  init(path: String) throws {
    self.path = path
    descriptor = try UnixSocket.makeDatagram()
    try UnixSocket.bind(descriptor, to: path)
    try descriptor.setTimeouts(seconds: Programs.patienceSeconds)
  }

  /// The next notification, each assignment a line.
  ///
  /// - Throws: `Errno.again` when none comes.
  func next() throws -> String {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let socket = descriptor.rawValue
    let count = try retrying { unsafe recv(socket, &bytes, bytes.count, 0) }
    let notification = String(decoding: bytes[..<count], as: UTF8.self)
    received.append(notification)
    return notification
  }

  /// Leaves no room for another notification, as a manager does that is sent much and reads nothing.
  func fill() throws {
    let sender = try UnixSocket.makeDatagram()
    try UnixSocket.connect(sender, to: path)
    let socket = sender.rawValue
    while true {
      do throws(Errno) {
        _ = try retrying { unsafe send(socket, "X_FILLING=1", 11, CInt(MSG_DONTWAIT)) }
      } catch {
        guard error == .again else { throw error }
        return
      }
    }
  }

  /// Takes what has come, without waiting.
  func drain() throws {
    while try waits(milliseconds: 0) { _ = try next() }
  }

  /// Whether a notification is there, or comes within that time.
  func waits(milliseconds: CInt) throws -> Bool {
    var watched = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
    return try retrying { unsafe poll(&watched, 1, milliseconds) } > 0
  }

  /// Waits for a notification with this assignment, going past others.
  ///
  /// - Returns: the whole notification.
  @discardableResult
  func wait(for assignment: String) throws -> String {
    try wait { $0.split(separator: "\n").contains(Substring(assignment)) }
  }

  /// Waits for a notification that is meant, going past others.
  @discardableResult
  func wait(until isMeant: (String) -> Bool) throws -> String {
    while true {
      let notification = try next()
      if isMeant(notification) { return notification }
    }
  }
}

extension UnixSocket {
  fileprivate static func makeDatagram() throws(Errno) -> FileDescriptor {
    let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    return FileDescriptor(owning: try retrying { socket(AF_UNIX, type, 0) })
  }
}

extension FileDescriptor {
  /// Has reads and writes fail with EAGAIN after that long.
  func setTimeouts(seconds: Int) throws {
    var timeout = timeval(tv_sec: seconds, tv_usec: 0)
    let descriptor = rawValue
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      _ = try retrying {
        unsafe setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
      }
    }
  }
}

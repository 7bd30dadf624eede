// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Synchronization
package import TribuneSystem
import TribuneWire

/// The service manager's end of sd_notify(3).
package final class NotifySocket: Sendable {
  /// The receiver closes the descriptors.
  package struct Message {
    package let text: String
    package let descriptors: [CInt]
  }

  private static let patienceMilliseconds: CInt = 60_000

  /// The value for `$NOTIFY_SOCKET`: a path, or `@` and a name in the abstract namespace.
  package let address: String
  private let descriptor: FileDescriptor
  private let folder: (any AnyObject & Sendable)?
  private let taken = Mutex<[String]>([])

  /// Without a path, the socket gets an abstract name. It retains `folder` until it is closed.
  package init(path: String?, in folder: (any AnyObject & Sendable)? = nil) throws {
    self.folder = folder
    descriptor = try Self.makeDatagram()
    if let path { try UnixSocket.bind(descriptor, to: path) } else { try descriptor.takeName() }
    address = try path ?? "@\(descriptor.abstractName())"
  }

  private static func makeDatagram() throws -> FileDescriptor {
    let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    return FileDescriptor(owning: try retrying { socket(AF_UNIX, type, 0) })
  }

  // MARK: Receiving

  package var received: [String] { taken.withLock { $0 } }

  /// Throws `Errno.again` if no notification arrives.
  package func receive() throws -> Message {
    guard try waits(milliseconds: Self.patienceMilliseconds) else { throw Errno.again }
    let bytes = ByteBuffer(capacity: 65_536)
    var passed = PassedDescriptors()
    _ = try UnixSocket.receive(from: descriptor, into: bytes, &passed, descriptorsMax: .max)
    let text = String(decoding: [UInt8](bytes.bytes), as: UTF8.self)
    taken.withLock { $0.append(text) }
    return Message(text: text, descriptors: passed.releaseAll())
  }

  package func next() throws -> String {
    let message = try receive()
    for descriptor in message.descriptors { close(descriptor) }
    return message.text
  }

  package func drain(_ count: Int? = nil) throws {
    if let count {
      for _ in 0..<count { _ = try next() }
    } else {
      while try waits(milliseconds: 0) { _ = try next() }
    }
  }

  package func waits(milliseconds: CInt) throws -> Bool {
    var watched = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
    return try retrying { unsafe poll(&watched, 1, milliseconds) } > 0
  }

  @discardableResult
  package func wait(for assignment: String) throws -> String {
    try wait { $0.split(separator: "\n").contains(Substring(assignment)) }
  }

  @discardableResult
  package func wait(until isMeant: (String) -> Bool) throws -> String {
    while true {
      let notification = try next()
      if isMeant(notification) { return notification }
    }
  }

  // MARK: Filling

  /// Fills the socket's queue, as if the manager had stopped reading; returns its length.
  package func fill() throws -> Int {
    let sender = try Self.makeDatagram()
    try UnixSocket.connect(sender, to: address)
    let socket = sender.rawValue
    var count = 0
    while true {
      do throws(Errno) {
        _ = try retrying { unsafe send(socket, "X_FILLING=1", 11, CInt(MSG_DONTWAIT)) }
        count += 1
      } catch {
        guard error == .again else { throw error }
        return count
      }
    }
  }
}

extension FileDescriptor {
  /// Binds the socket to an abstract name from the kernel (unix(7), "autobind").
  package func takeName() throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let socket = rawValue
    _ = try retrying {
      unsafe withUnsafePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe bind(socket, address, socklen_t(MemoryLayout<sa_family_t>.size))
        }
      }
    }
  }

  package func abstractName() throws -> String {
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let socket = rawValue
    _ = try retrying {
      unsafe withUnsafeMutablePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe getsockname(socket, address, &length)
        }
      }
    }
    let start = MemoryLayout<sa_family_t>.size + 1
    return unsafe withUnsafeBytes(of: &address) { bytes in
      unsafe String(decoding: bytes[start..<Int(length)], as: UTF8.self)
    }
  }
}

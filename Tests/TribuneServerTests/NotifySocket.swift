// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A service manager's end of `NOTIFY_SOCKET`. For a process of its own: it changes the environment.
final class NotifySocket: Sendable {
  /// What came, and the descriptors that came with it, which whoever has it closes.
  struct Message {
    let text: String
    let descriptors: [CInt]
  }

  private let folder: TemporaryFolder
  private let descriptor: CInt

  /// - Parameter abstract: its name in the abstract namespace; nil for a path.
  init(abstract name: String? = nil) throws {
    folder = try TemporaryFolder()
    descriptor = try Self.socket()
    let path = name.map { "@\($0)" } ?? folder.path + "/notify"
    unsafe setenv("NOTIFY_SOCKET", path, 1)
    let bound = unsafe Self.withAddress(path) { unsafe bind(descriptor, $0, $1) }
    try #require(bound == 0)
  }

  private static func socket() throws -> CInt {
    let descriptor = Foundation.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    return descriptor
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
      unsafe field.copyBytes(from: path.utf8)
      if path.hasPrefix("@") { unsafe field[0] = 0 }
    }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, length)
      }
    }
  }

  /// Leaves no room for another message, as a manager does that is sent much and reads nothing.
  func fill() throws {
    let sender = try Self.socket()
    defer { close(sender) }
    let path = try #require(unsafe getenv("NOTIFY_SOCKET").map { unsafe String(cString: $0) })
    let connected = unsafe Self.withAddress(path) { unsafe connect(sender, $0, $1) }
    try #require(connected == 0)
    while unsafe send(sender, Self.filling, Self.filling.utf8.count, CInt(MSG_DONTWAIT)) >= 0 {}
    try #require(errno == EAGAIN)
  }

  private static let filling = "X_FILLING=1"

  /// Takes what `fill()` has sent.
  func drain() throws {
    var byte: UInt8 = 0
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_PEEK)
    while unsafe recv(descriptor, &byte, 1, flags) == 1, byte == UInt8(ascii: "X") {
      try #require(try next() == Self.filling)
    }
  }

  deinit { close(descriptor) }

  /// The next message, which has been sent already.
  func next() throws -> String {
    let message = try receive(waits: false)
    for descriptor in message.descriptors { close(descriptor) }
    return message.text
  }

  /// The next message, which is waited for, for a minute at most.
  func receive(waits: Bool = true) throws -> Message {
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var bytes = [UInt8](repeating: 0, count: 4096)
    // For more than the kernel passes: a head of two words, and 253 descriptors.
    var control = [UInt64](repeating: 0, count: 2 + 130)
    var controlLength = 0
    let count = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe control.withUnsafeMutableBytes { control in
        var vector = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return unsafe withUnsafeMutablePointer(to: &vector) { vector in
          var message = unsafe msghdr()
          unsafe message.msg_iov = vector
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          let count = unsafe recvmsg(
            descriptor, &message, CInt(MSG_CMSG_CLOEXEC) | (waits ? 0 : CInt(MSG_DONTWAIT)))
          controlLength = unsafe message.msg_controllen
          return count
        }
      }
    }
    try #require(count >= 0, "nothing was sent")
    let descriptors = unsafe control.withUnsafeBytes { control in
      stride(from: 16, to: controlLength > 16 ? unsafe control.load(as: Int.self) : 0, by: 4).map {
        unsafe control.load(fromByteOffset: $0, as: CInt.self)
      }
    }
    return Message(text: String(decoding: bytes.prefix(count), as: UTF8.self), descriptors: descriptors)
  }
}

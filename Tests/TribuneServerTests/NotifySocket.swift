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

  init() throws {
    folder = try TemporaryFolder()
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = folder.path + "/notify"
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let bound = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    unsafe setenv("NOTIFY_SOCKET", path, 1)
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

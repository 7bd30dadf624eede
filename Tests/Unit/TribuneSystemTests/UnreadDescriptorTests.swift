// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
import Testing
import TribuneSystem

@Suite("Unread input", .timeLimit(.minutes(15)))
struct UnreadDescriptorTests {
  enum Part {
    case bytes(Int)
    case bytesWithDescriptor(Int)
    case urgentByte
    case urgentByteWithDescriptor
  }

  @Test(
    "can have descriptors if it has some, or if the kernel hides them",
    arguments: [
      ([], false), ([.bytes(1)], false), ([.bytes(16_384), .bytes(16_384), .bytes(16_385)], false),
      ([Part](repeating: .bytes(1), count: 100), false),
      ([.bytesWithDescriptor(1)], true), ([.bytesWithDescriptor(1), .bytes(5)], true),
      ([.bytes(16), .bytesWithDescriptor(1)], true), ([.bytes(40_000), .bytesWithDescriptor(1)], true),
      ([.bytes(3), .bytesWithDescriptor(2), .bytes(3), .bytesWithDescriptor(2)], true),
      ([.urgentByteWithDescriptor], true), ([.urgentByteWithDescriptor, .bytes(9)], true),
      ([.bytes(3), .urgentByte, .bytesWithDescriptor(1)], true),
      ([.urgentByte, .bytesWithDescriptor(1)], true),
    ] as [([Part], Bool)])
  func unread(_ parts: [Part], _ canHaveDescriptors: Bool) throws {
    let ends = try UnixSocket.makePair()
    for part in parts { try send(part, to: ends.one) }
    UnixSocket.shutdown(ends.other)
    #expect(UnixSocket.canHaveUnreadDescriptors(ends.other) == canHaveDescriptors)
    #expect(try UnixSocket.hasUnread(ends.other) == !parts.isEmpty)
    #expect(UnixSocket.canHaveUnreadDescriptors(ends.other) == canHaveDescriptors)
  }

  private func send(_ part: Part, to socket: borrowing FileDescriptor) throws {
    let (count, hasDescriptor, isUrgent): (Int, Bool, Bool) =
      switch part {
      case .bytes(let count): (count, false, false)
      case .bytesWithDescriptor(let count): (count, true, false)
      case .urgentByte: (1, false, true)
      case .urgentByteWithDescriptor: (1, true, true)
      }
    var bytes = [UInt8](repeating: 0, count: count)
    var control = [UInt64](repeating: 0, count: 3)
    let (raw, flags) = (socket.rawValue, CInt(MSG_NOSIGNAL) | (isUrgent ? CInt(MSG_OOB) : 0))
    let sent = unsafe control.withUnsafeMutableBytes { control in
      unsafe control.storeBytes(of: MemoryLayout<cmsghdr>.size + 4, as: Int.self)
      unsafe control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
      unsafe control.storeBytes(of: CInt(SCM_RIGHTS), toByteOffset: 12, as: CInt.self)
      unsafe control.storeBytes(of: raw, toByteOffset: MemoryLayout<cmsghdr>.size, as: CInt.self)
      return unsafe bytes.withUnsafeMutableBytes { bytes in
        var vector = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return unsafe withUnsafeMutablePointer(to: &vector) { vector in
          var message = unsafe msghdr()
          unsafe message.msg_iov = vector
          unsafe message.msg_iovlen = 1
          if hasDescriptor {
            unsafe message.msg_control = control.baseAddress
            unsafe message.msg_controllen = control.count
          }
          return unsafe sendmsg(raw, &message, flags)
        }
      }
    }
    try #require(sent == count, "\(Errno.current)")
  }
}

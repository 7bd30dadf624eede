// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

extension RawClient {
  /// Sends one byte with `count` copies of standard input along.
  func sendDescriptors(_ count: Int) throws {
    let space = MemoryLayout<cmsghdr>.size + count * MemoryLayout<CInt>.size
    var control = [UInt8](repeating: 0, count: (space + 7) & ~7)
    unsafe control.withUnsafeMutableBytes { bytes in
      // The fields of a cmsghdr, one behind the other.
      unsafe bytes.storeBytes(of: space, as: Int.self)
      unsafe bytes.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
      unsafe bytes.storeBytes(of: CInt(SCM_RIGHTS), toByteOffset: 12, as: CInt.self)
      for index in 0..<count {
        unsafe bytes.storeBytes(
          of: STDIN_FILENO, toByteOffset: MemoryLayout<cmsghdr>.size + index * MemoryLayout<CInt>.size,
          as: CInt.self)
      }
    }
    var byte: UInt8 = 32
    let sent = unsafe withUnsafeMutableBytes(of: &byte) { byte in
      var vector = unsafe iovec(iov_base: byte.baseAddress, iov_len: 1)
      return unsafe control.withUnsafeMutableBytes { control in
        unsafe withUnsafeMutablePointer(to: &vector) { vector in
          var message = unsafe msghdr()
          unsafe message.msg_iov = vector
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = space
          return unsafe sendmsg(rawDescriptor, &message, CInt(MSG_NOSIGNAL))
        }
      }
    }
    guard sent == 1 else { throw Errno.current }
  }
}

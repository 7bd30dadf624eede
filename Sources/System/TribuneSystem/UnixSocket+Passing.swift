// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

extension UnixSocket {
  /// Sends bytes and descriptors, and never blocks. The descriptors go with the first byte, so `bytes` must
  /// not be empty. Returns the number of bytes sent, which is 0 if the peer's buffer is full.
  package static func send(
    _ bytes: RawSpan, passing descriptors: [CInt], to descriptor: borrowing FileDescriptor
  ) throws(Errno) -> Int {
    precondition(bytes.byteCount > 0)
    let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
    do throws(Errno) {
      return unsafe try send(bytes, passing: descriptors, through: descriptor.rawValue, flags, to: nil, 0)
    } catch  where error == .again {
      return 0
    }
  }

  static func send(
    _ bytes: RawSpan, passing descriptors: [CInt], through socket: CInt, _ flags: CInt,
    to address: UnsafePointer<sockaddr>?, _ addressLength: socklen_t
  ) throws(Errno) -> Int {
    var control = LongControlMessage(passing: descriptors)
    return try retrying {
      unsafe bytes.withUnsafeBytes { bytes in
        var vector = unsafe iovec(
          iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return unsafe withUnsafeMutablePointer(to: &vector) { vector in
          unsafe control.withBytes { control in
            var message = unsafe msghdr()
            unsafe message.msg_name = UnsafeMutableRawPointer(mutating: address)
            unsafe message.msg_namelen = addressLength
            unsafe message.msg_iov = vector
            unsafe message.msg_iovlen = 1
            if !descriptors.isEmpty {
              unsafe message.msg_control = control.baseAddress
              unsafe message.msg_controllen = control.count
            }
            return unsafe sendmsg(socket, &message, flags)
          }
        }
      }
    }
  }
}

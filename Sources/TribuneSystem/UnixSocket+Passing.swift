// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Messages with many descriptors, which only daemons send each other.
extension UnixSocket {
  /// Sends as many of `bytes` as the kernel takes, without waiting. `bytes` must not be empty. Copies of `descriptors`
  /// go with the first byte.
  ///
  /// - Returns: the number of bytes that the kernel took; 0, and no descriptors, when the peer's buffer is full.
  package static func send(
    _ bytes: RawSpan, passing descriptors: [CInt], to descriptor: borrowing FileDescriptor
  ) throws(Errno) -> Int {
    precondition(bytes.byteCount > 0)
    let socket = descriptor.rawValue
    let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
    var control = LongControlMessage(passing: descriptors)
    do throws(Errno) {
      return try retrying {
        unsafe bytes.withUnsafeBytes { bytes in
          var vector = unsafe iovec(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
          return unsafe withUnsafeMutablePointer(to: &vector) { vector in
            unsafe control.withBytes { control in
              var message = unsafe msghdr()
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
    } catch  where error == .again {
      return 0
    }
  }
}

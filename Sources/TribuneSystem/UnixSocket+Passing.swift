// SPDX-License-Identifier: Apache-2.0

import Glibc
package import TribuneWire

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
    do {
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
    } catch {
      throw error
    }
  }

  /// Reads once into the buffer's free space, which must not be empty, with as many descriptors as one message can
  /// have.
  ///
  /// - Parameter passed: receives the descriptors; those beyond this process's limit on descriptors are lost.
  package static func receiveMany(
    from descriptor: borrowing FileDescriptor, into buffer: ByteBuffer, _ passed: inout PassedDescriptors
  ) throws(Errno) -> Received {
    precondition(buffer.capacity > buffer.count)
    let socket = descriptor.rawValue
    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_CMSG_CLOEXEC)
    var control = LongControlMessage()
    var controlLength = 0
    var flagsSet: CInt = 0
    var count = 0
    do {
      unsafe try buffer.appendFilling { free throws(Errno) in
        count = try retrying {
          var vector = unsafe iovec(iov_base: free.baseAddress, iov_len: free.count)
          return unsafe withUnsafeMutablePointer(to: &vector) { vector in
            unsafe control.withBytes { control in
              var message = unsafe msghdr()
              unsafe message.msg_iov = vector
              unsafe message.msg_iovlen = 1
              unsafe message.msg_control = control.baseAddress
              unsafe message.msg_controllen = control.count
              let count = unsafe recvmsg(socket, &message, flags)
              controlLength = unsafe message.msg_controllen
              flagsSet = unsafe message.msg_flags
              return count
            }
          }
        }
        return count
      }
    } catch  where error == .again {
      return .nothing
    } catch {
      throw error
    }
    if controlLength > 0 { control.takeDescriptors(length: controlLength, into: &passed) }
    if flagsSet & CInt(MSG_CTRUNC) != 0 { passed.appendLost() }
    return count == 0 ? .end : .bytes(count)
  }
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

/// The slices of one gathering send. A list is reused, so that sending allocates nothing.
///
/// Between the first `append` and `send`, nothing may be appended to the slices' buffers: the list has their addresses.
@safe package final class GatherList {
  private let vectors: UnsafeMutableBufferPointer<iovec>
  private var vectorCount = 0
  /// The file that goes with the first byte.
  private var attachment: (any AttachedFile)?

  /// - Parameter capacity: the most slices in one send, at most the kernel's 1,024.
  package init(capacity: Int) {
    precondition(capacity > 0 && capacity <= 1024)
    unsafe vectors = .allocate(capacity: capacity)
  }

  deinit { unsafe vectors.deallocate() }

  package var isFull: Bool { unsafe vectors.count == vectorCount }

  /// Appends a part of a buffer. A file that is attached to the buffer goes with its first byte, which must then be
  /// the first of the send.
  package func append(_ range: Range<Int>, of buffer: ByteBuffer) {
    append(range, of: buffer, with: range.lowerBound == 0 ? buffer.attachment : nil)
  }

  /// Appends a part of a buffer. `file`, if any, goes with its first byte, which must then be the first of the send.
  package func append(_ range: Range<Int>, of buffer: ByteBuffer, with file: (any AttachedFile)?) {
    precondition(!isFull)
    if let file {
      precondition(vectorCount == 0, "only the first slice of a send can have a file")
      attachment = file
    }
    unsafe buffer.withAddress(of: range) { bytes in
      unsafe vectors[vectorCount] = iovec(
        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    }
    vectorCount += 1
  }

  /// Sends the slices, and clears the list.
  ///
  /// - Returns: the bytes that the kernel took, which may be fewer; 0 when the peer's buffer is full.
  package func send(to descriptor: borrowing FileDescriptor) throws(Errno) -> Int {
    defer {
      vectorCount = 0
      attachment = nil
    }
    let socket = descriptor.rawValue
    let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
    var message = unsafe msghdr()
    unsafe message.msg_iov = vectors.baseAddress
    unsafe message.msg_iovlen = vectorCount
    do {
      if let attachment {
        var control = ControlMessage(passing: attachment.rawDescriptor)
        return unsafe try control.withBytes { control throws(Errno) in
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = ControlMessage.lengthForOne
          return try retrying { unsafe sendmsg(socket, &message, flags) }
        }
      }
      // A single slice is the common case, and send(2) is faster for it.
      if vectorCount == 1 {
        let part = unsafe vectors[0]
        return try retrying { unsafe Glibc.send(socket, part.iov_base, part.iov_len, flags) }
      }
      return try retrying { unsafe sendmsg(socket, &message, flags) }
    } catch  where error == .again {
      return 0
    } catch {
      throw error
    }
  }
}

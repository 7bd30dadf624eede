// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc
package import TribuneWire

/// The slices of one send. The list is reused, to avoid allocations. After a slice is appended, its buffer
/// must not grow until `send`.
@safe package final class GatherList {
  private let vectors: UnsafeMutableBufferPointer<iovec>
  private var vectorCount = 0
  /// The file whose descriptor goes with the first byte.
  private var attachment: (any AttachedFile)?

  /// - Parameter capacity: the largest number of slices, at most 1,024, which is the kernel's limit.
  package init(capacity: Int) {
    precondition(capacity > 0 && capacity <= 1024)
    unsafe vectors = .allocate(capacity: capacity)
  }

  deinit { unsafe vectors.deallocate() }

  package var isFull: Bool { unsafe vectors.count == vectorCount }

  package func append(_ range: Range<Int>, of buffer: ByteBuffer) {
    append(range, of: buffer, with: range.lowerBound == 0 ? buffer.attachment : nil)
  }

  /// Appends a slice. A send's first byte carries the descriptor, so only the first slice can have a file.
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

  /// Sends the slices, and clears the list. Returns the number of bytes sent, which is 0 if the peer's buffer
  /// is full.
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
      // In the common case of one slice, send(2) is faster.
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

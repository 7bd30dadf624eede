// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// One message's descriptors in the kernel's layout: a `cmsghdr`, then descriptors.
struct ControlMessage {
  fileprivate static let headLength = MemoryLayout<cmsghdr>.size
  /// The message, with space for SCM_MAX_FD descriptors. If the space were too small, the kernel would close
  /// the remaining descriptors during the read. Closing a descriptor can block for as long as another process
  /// likes, such as the server of a file system, or the peer of a lingering socket.
  private var words = InlineArray<129, UInt64>(repeating: 0)

  static let lengthForOne = headLength + 8

  init() {}

  init(passing descriptor: CInt) {
    unsafe withBytes { bytes in
      unsafe Self.writeHead(descriptorCount: 1, into: bytes)
      unsafe bytes.storeBytes(of: descriptor, toByteOffset: Self.headLength, as: CInt.self)
    }
  }

  mutating func withBytes<R, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R { try unsafe withUnsafeMutableBytes(of: &words, body) }

  /// Moves the descriptors into `passed`. `length` is the number of bytes that the kernel wrote.
  mutating func takeDescriptors(length: Int, into passed: inout PassedDescriptors) {
    guard length >= Self.headLength else { return }
    unsafe withBytes { bytes in
      let end = unsafe min(length, bytes.load(as: Int.self), bytes.count)
      let level = unsafe bytes.load(fromByteOffset: MemoryLayout<Int>.size, as: CInt.self)
      let type = unsafe bytes.load(
        fromByteOffset: MemoryLayout<Int>.size + MemoryLayout<CInt>.size, as: CInt.self)
      guard level == SOL_SOCKET, type == CInt(SCM_RIGHTS) else { return }
      for offset in stride(from: Self.headLength, to: end - 3, by: MemoryLayout<CInt>.size) {
        passed.append(owning: unsafe bytes.load(fromByteOffset: offset, as: CInt.self))
      }
    }
  }

  fileprivate static func writeHead(descriptorCount: Int, into bytes: UnsafeMutableRawBufferPointer) {
    unsafe bytes.storeBytes(of: headLength + descriptorCount * MemoryLayout<CInt>.size, as: Int.self)
    unsafe bytes.storeBytes(of: SOL_SOCKET, toByteOffset: MemoryLayout<Int>.size, as: CInt.self)
    unsafe bytes.storeBytes(
      of: CInt(SCM_RIGHTS), toByteOffset: MemoryLayout<Int>.size + MemoryLayout<CInt>.size, as: CInt.self)
  }
}

/// A message to send, with up to SCM_MAX_FD descriptors.
struct LongControlMessage {
  /// The value of SCM_MAX_FD in the kernel.
  private static let descriptorsMax = 253

  private var words: [UInt64]

  init(passing descriptors: [CInt]) {
    precondition(descriptors.count <= Self.descriptorsMax)
    let length = ControlMessage.headLength + descriptors.count * MemoryLayout<CInt>.size
    words = [UInt64](repeating: 0, count: (length + 7) / 8)
    unsafe withBytes { bytes in
      unsafe ControlMessage.writeHead(descriptorCount: descriptors.count, into: bytes)
      for (index, descriptor) in descriptors.enumerated() {
        unsafe bytes.storeBytes(
          of: descriptor, toByteOffset: ControlMessage.headLength + index * MemoryLayout<CInt>.size,
          as: CInt.self)
      }
    }
  }

  mutating func withBytes<R>(_ body: (UnsafeMutableRawBufferPointer) -> R) -> R {
    unsafe words.withUnsafeMutableBytes { unsafe body($0) }
  }
}

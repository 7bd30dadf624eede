// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Room for the descriptors of one message, laid out as the kernel has it: a `cmsghdr`, and the descriptors
/// behind it.
struct ControlMessage {
  private static let headLength = MemoryLayout<cmsghdr>.size
  /// For 16 descriptors: 80 bytes.
  private var words = InlineArray<10, UInt64>(repeating: 0)

  /// Bytes of control data for one descriptor, with what fills them up to whole words.
  static let lengthForOne = headLength + 8

  static var capacity: Int { MemoryLayout<InlineArray<10, UInt64>>.size }

  init() {}

  init(passing descriptor: CInt) {
    unsafe withBytes { bytes in
      unsafe bytes.storeBytes(of: Self.headLength + MemoryLayout<CInt>.size, as: Int.self)
      unsafe bytes.storeBytes(of: SOL_SOCKET, toByteOffset: MemoryLayout<Int>.size, as: CInt.self)
      unsafe bytes.storeBytes(
        of: CInt(SCM_RIGHTS), toByteOffset: MemoryLayout<Int>.size + MemoryLayout<CInt>.size, as: CInt.self)
      unsafe bytes.storeBytes(of: descriptor, toByteOffset: Self.headLength, as: CInt.self)
    }
  }

  mutating func withBytes<R, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe withUnsafeMutableBytes(of: &words, body)
  }

  /// Hands the descriptors over that the kernel wrote into the first `length` bytes.
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
}

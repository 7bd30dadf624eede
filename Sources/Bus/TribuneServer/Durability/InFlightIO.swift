// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The in-flight I/O of a connection that was handed over.
struct InFlightIO {
  /// The input that was read and not handled, descriptors that wait for their frames, and the unsent frames.
  var bytes: ByteBuffer?
  /// The notifications buffered while the connection was suspended.
  var buffered: ByteBuffer?
}

/// Descriptors of the files that logged or handed-over frames refer to, by inode. Their owners stay the same.
struct FilesHandedOver {
  private(set) var descriptors: [UInt64: CInt] = [:]

  /// - Returns: the inode by which the file is found again; 0 if it is no sealed file in memory.
  mutating func insert(_ descriptor: CInt) -> UInt64 {
    let inode = FileDescriptor.lending(descriptor) { $0.inode } ?? 0
    if inode != 0 { descriptors[inode] = descriptor }
    return inode
  }

  /// Inserts a descriptor that waits for its frame, if it is one of a file in memory. Nothing is asked of any other
  /// one, and it is not passed on.
  mutating func insert(waiting descriptor: CInt) -> UInt64 {
    if descriptor == PassedDescriptors.lost { return Self.lost }
    return MemoryFile.isInMemory(descriptor) ? insert(descriptor) : Self.foreign
  }

  /// The bytes of a file's inode, length and user.
  static let recordLength = 8 + 8 + 4

  /// Appends a file's inode, length and user.
  mutating func append(_ file: (any AttachedFile)?, to buffer: ByteBuffer) {
    buffer.append(file.map { insert($0.rawDescriptor) } ?? 0)
    buffer.append(UInt64(file?.length ?? 0))
    buffer.append((file as? InFlightFile)?.user.uid ?? 0)
  }

  /// No inode has these numbers.
  static let foreign: UInt64 = 0
  static let lost = UInt64.max
}

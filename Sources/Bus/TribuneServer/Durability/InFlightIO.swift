// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// The unfinished input and output that the previous daemon has handed over for a connection.
struct InFlightIO {
  /// Unhandled input, its descriptors, and unsent frames.
  var bytes: ByteBuffer?
  var buffered: ByteBuffer?
}

/// Descriptors of files in logged or handed-over frames, by inode. Other objects own the descriptors.
struct FilesHandedOver {
  private(set) var descriptors: [UInt64: CInt] = [:]

  /// - Returns: the inode, or 0 if the descriptor is not a file in memory with a sealed length.
  mutating func insert(_ descriptor: CInt) -> UInt64 {
    let inode = FileDescriptor.lending(descriptor) { $0.inode } ?? 0
    if inode != 0 { descriptors[inode] = descriptor }
    return inode
  }

  /// Inserts a descriptor that arrived before the rest of its frame. A descriptor that is no file in memory
  /// is not examined further, and not handed over.
  mutating func insert(waiting descriptor: CInt) -> UInt64 {
    if descriptor == PassedDescriptors.lost { return Self.lost }
    return MemoryFile.isInMemory(descriptor) ? insert(descriptor) : Self.foreign
  }

  static let recordLength = 8 + 8 + 4

  mutating func append(_ file: (any AttachedFile)?, to buffer: ByteBuffer) {
    buffer.append(file.map { insert($0.rawDescriptor) } ?? 0)
    buffer.append(UInt64(file?.length ?? 0))
    buffer.append((file as? InFlightFile)?.user.uid ?? 0)
  }

  /// In place of the inode of a descriptor that is no file in memory.
  static let foreign: UInt64 = 0
  /// In place of the inode of a descriptor that never arrived, because the daemon was at its limit.
  static let lost = UInt64.max
}

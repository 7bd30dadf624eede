// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What was under way on a connection when it was handed over.
struct InFlightIO {
  /// What was read in part, and what waited to be read.
  var stream: ByteBuffer?
  /// What was buffered while it was suspended.
  var buffered: ByteBuffer?
}

/// A file that another daemon has left.
struct InheritedFile {
  let file: InFlightFile
  let inode: UInt64
}

/// Files that are handed over with what speaks of them, by inode. Whoever collected them still owns them.
struct FilesHandedOver {
  private(set) var descriptors: [UInt64: CInt] = [:]

  /// - Returns: by which number it is found again; 0 for what is no sealed file in memory.
  mutating func insert(_ descriptor: CInt) -> UInt64 {
    let inode = FileDescriptor.lending(descriptor) { $0.inode } ?? 0
    if inode != 0 { descriptors[inode] = descriptor }
    return inode
  }

  /// Inserts a descriptor that waits for its frame, if it is one of a file in memory. Nothing is asked of another one,
  /// and nobody else gets it.
  mutating func insert(waiting descriptor: CInt) -> UInt64 {
    if descriptor == PassedDescriptors.lost { return Self.lost }
    return MemoryFile.isInMemory(descriptor) ? insert(descriptor) : Self.foreign
  }

  /// Appends how a file is found again, how long it is, and whose it is: `RecordedFile.length` bytes.
  mutating func append(_ file: (any AttachedFile)?, to buffer: ByteBuffer) {
    buffer.append(file.map { insert($0.rawDescriptor) } ?? 0)
    buffer.append(UInt64(file?.length ?? 0))
    buffer.append((file as? InFlightFile)?.user.uid ?? 0)
  }

  /// No inode has these numbers.
  static let foreign: UInt64 = 0
  static let lost = UInt64.max
}

/// A file as it is written down: its inode, its length and its user.
enum RecordedFile {
  static let length = 8 + 8 + 4
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A file in memory that is written where it is mapped. No process can change its length any more, even with a
/// descriptor of it.
///
/// Its seals make it safe to map: access to a part that was cut off would raise a signal. So the seals of a file from
/// another process are checked first.
package struct SharedFile: ~Copyable, Sendable {
  private static let seals = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW

  package let length: Int
  private let descriptor: FileDescriptor

  package var rawDescriptor: CInt { descriptor.rawValue }

  /// Makes a file that reads as zeros. It takes memory only where it is written.
  package init(length: Int) throws(Errno) {
    precondition(length > 0)
    let file = try MemoryFile.makeEmpty("tribune-shared", for: length)
    let descriptor = file.rawValue
    _ = try retrying { ftruncate(descriptor, off_t(length)) }
    _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, Self.seals) }
    self.length = length
    self.descriptor = file
  }

  /// Accepts a file from another process.
  ///
  /// - Throws: `Flaw`; the descriptor is closed then.
  package init(checking file: consuming FileDescriptor) throws(MemoryFile.Flaw) {
    let facts = try MemoryFileFacts(of: file.rawValue)
    guard facts.access == O_RDWR else { throw .notWritable }
    guard facts.seals & Self.seals == Self.seals else { throw .notSealed }
    length = facts.length
    self.descriptor = file
  }

  /// The first bytes of a file in memory, sealed or not.
  ///
  /// - Returns: `length` bytes, or fewer if the file is shorter; nil if it is not a file in memory, or cannot be read.
  package static func start(of file: borrowing FileDescriptor, length: Int) -> [UInt8]? {
    let descriptor = file.rawValue
    // Anything that cannot have seals is not read at all: reading could wait, and consume others' data.
    guard fcntl(descriptor, TRIBUNE_F_GET_SEALS) != -1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: length)
    do throws(Errno) {
      let count = try retrying { unsafe pread(descriptor, &bytes, length, 0) }
      return Array(bytes.prefix(count))
    } catch {
      return nil
    }
  }

  /// Returns the memory of a part of the file to the kernel; the part reads as zeros from then on.
  ///
  /// - Parameter range: whole pages.
  /// - Returns: whether the kernel did so. A filter of system calls may forbid it; the part is unchanged then.
  package func discard(_ range: Range<Int>) -> Bool {
    precondition(range.lowerBound >= 0 && range.upperBound <= length)
    let descriptor = self.descriptor.rawValue
    do throws(Errno) {
      let mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
      _ = try retrying { fallocate(descriptor, mode, off_t(range.lowerBound), off_t(range.count)) }
      return true
    } catch {
      return false
    }
  }

  /// The first part from `offset` on that has memory; nil if there is none. Reading the rest through a mapping would
  /// give it memory, too.
  package func data(from offset: Int) -> Range<Int>? {
    precondition(offset >= 0)
    do throws(Errno) {
      let descriptor = self.descriptor.rawValue
      let start = try retrying { lseek(descriptor, off_t(offset), TRIBUNE_SEEK_DATA) }
      let end = try retrying { lseek(descriptor, start, TRIBUNE_SEEK_HOLE) }
      return Int(start)..<Int(end)
    } catch {
      // If the kernel cannot tell data from holes, the rest counts as data.
      return error.rawValue == ENXIO || offset >= length ? nil : offset..<length
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// A writable file in memory with a fixed length. Its seals make it safe to map: access to a truncated part
/// would raise a signal. A file from another process must be checked first.
package struct SharedFile: ~Copyable, Sendable {
  private static let seals = TRIBUNE_F_SEAL_SEAL | TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW

  package let length: Int
  private let descriptor: FileDescriptor

  package var rawDescriptor: CInt { descriptor.rawValue }

  /// Makes a file. The file uses memory only for the pages that have been written.
  package init(length: Int) throws(Errno) {
    precondition(length > 0)
    let file = try MemoryFile.makeEmpty("tribune-shared", for: length)
    let descriptor = file.rawValue
    _ = try retrying { ftruncate(descriptor, off_t(length)) }
    _ = try retrying { fcntl(descriptor, TRIBUNE_F_ADD_SEALS, Self.seals) }
    self.length = length
    self.descriptor = file
  }

  /// Takes a file from another process, and checks it. Closes the descriptor after an error.
  package init(checking file: consuming FileDescriptor) throws(MemoryFile.Flaw) {
    let facts = try MemoryFileFacts(of: file.rawValue)
    guard facts.access == O_RDWR else { throw .notWritable }
    guard facts.seals & Self.seals == Self.seals else { throw .notSealed }
    length = facts.length
    self.descriptor = file
  }

  /// Returns the first `length` bytes, or fewer if the file is shorter. Returns nil if `file` is not a
  /// readable memory file. The file need not be sealed.
  package static func start(of file: borrowing FileDescriptor, length: Int) -> [UInt8]? {
    let descriptor = file.rawValue
    // A read from any other file could block, or consume data.
    guard fcntl(descriptor, TRIBUNE_F_GET_SEALS) != -1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: length)
    do throws(Errno) {
      let count = try retrying { unsafe pread(descriptor, &bytes, length, 0) }
      return Array(bytes.prefix(count))
    } catch {
      return nil
    }
  }

  /// Frees the whole pages in the range, which then read as zeros. Returns false if that fails, for example
  /// because a system call filter forbids it.
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

  /// Returns the first part with memory at or behind `offset`; nil if there is none. Reading other parts
  /// through a mapping would allocate memory for them.
  package func data(from offset: Int) -> Range<Int>? {
    precondition(offset >= 0)
    do throws(Errno) {
      let descriptor = self.descriptor.rawValue
      let start = try retrying { lseek(descriptor, off_t(offset), TRIBUNE_SEEK_DATA) }
      let end = try retrying { lseek(descriptor, start, TRIBUNE_SEEK_HOLE) }
      return Int(start)..<Int(end)
    } catch {
      // If the kernel cannot report holes, the rest counts as data.
      return error.rawValue == ENXIO || offset >= length ? nil : offset..<length
    }
  }
}

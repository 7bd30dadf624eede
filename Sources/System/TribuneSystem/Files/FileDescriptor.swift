// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// An open descriptor with one owner, closed exactly once.
package struct FileDescriptor: ~Copyable, Sendable {
  package let rawValue: CInt

  package init(owning rawValue: CInt) {
    precondition(rawValue >= 0)
    self.rawValue = rawValue
  }

  deinit { Self.close(rawValue) }

  package consuming func close() {
    let rawValue = self.rawValue
    discard self
    Self.close(rawValue)
  }

  /// Returns the descriptor, which the caller must close.
  package consuming func release() -> CInt {
    let rawValue = self.rawValue
    discard self
    return rawValue
  }

  /// Lends a descriptor that has another owner, and does not close it.
  package static func lending<Result>(
    _ rawValue: CInt, _ body: (borrowing FileDescriptor) -> Result
  ) -> Result {
    let lent = FileDescriptor(owning: rawValue)
    let result = body(lent)
    _ = lent.release()
    return result
  }

  /// Linux closes the descriptor even after an error, so a retry is wrong. EBADF means that other code closed
  /// our descriptor.
  private static func close(_ descriptor: CInt) {
    if Glibc.close(descriptor) == -1 {
      precondition(errno != EBADF, "descriptor \(descriptor) was closed twice")
    }
  }

  /// Makes this descriptor refer to the file of `other`, atomically. The kernel closes this descriptor's
  /// previous file.
  package borrowing func replace(by other: consuming FileDescriptor) throws(Errno) {
    let (new, old) = (other.rawValue, rawValue)
    _ = try retrying { dup3(new, old, O_CLOEXEC) }
  }

  package func setNonblocking() throws(Errno) {
    let flags = try retrying { fcntl(rawValue, F_GETFL) }
    _ = try retrying { fcntl(rawValue, F_SETFL, flags | O_NONBLOCK) }
  }

  package func duplicate() throws(Errno) -> FileDescriptor { try Self.duplicate(of: rawValue) }

  package static func duplicate(of rawValue: CInt) throws(Errno) -> FileDescriptor {
    FileDescriptor(owning: try retrying { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
  }

  /// The inode number, which is unique among open memory files with a sealed length. Nil for any other file.
  package var inode: UInt64? {
    let sealed = TRIBUNE_F_SEAL_SHRINK | TRIBUNE_F_SEAL_GROW
    do throws(MemoryFile.Flaw) {
      let facts = try MemoryFileFacts(of: rawValue)
      return facts.seals & sealed == sealed ? facts.inode : nil
    } catch {
      return nil
    }
  }
}

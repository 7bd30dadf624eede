// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// An open descriptor with one owner, closed exactly once: by `close()`, or when the owner releases it.
package struct FileDescriptor: ~Copyable, Sendable {
  package let rawValue: CInt

  /// Takes over a descriptor that no other code will close.
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

  /// Gives the descriptor away without closing it.
  package consuming func release() -> CInt {
    let rawValue = self.rawValue
    discard self
    return rawValue
  }

  /// Calls `body` with a descriptor that other code owns.
  package static func lending<Result>(
    _ rawValue: CInt, _ body: (borrowing FileDescriptor) -> Result
  ) -> Result {
    let lent = FileDescriptor(owning: rawValue)
    let result = body(lent)
    _ = lent.release()
    return result
  }

  /// Linux closes the descriptor even if it reports an error, so nothing is tried again. EBADF means that other code
  /// has closed our descriptor.
  private static func close(_ descriptor: CInt) {
    if Glibc.close(descriptor) == -1 {
      precondition(errno != EBADF, "descriptor \(descriptor) was closed twice")
    }
  }

  /// Makes this descriptor refer to the open file of `other`, atomically for concurrent users. Its former file is
  /// closed.
  package borrowing func replace(by other: consuming FileDescriptor) throws(Errno) {
    let (new, old) = (other.rawValue, rawValue)
    _ = try retrying { dup3(new, old, O_CLOEXEC) }
  }

  package func setNonblocking() throws(Errno) {
    let flags = try retrying { fcntl(rawValue, F_GETFL) }
    _ = try retrying { fcntl(rawValue, F_SETFL, flags | O_NONBLOCK) }
  }

  /// Another descriptor of the same open file, close-on-exec.
  package func duplicate() throws(Errno) -> FileDescriptor { try Self.duplicate(of: rawValue) }

  package static func duplicate(of rawValue: CInt) throws(Errno) -> FileDescriptor {
    FileDescriptor(owning: try retrying { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
  }

  /// The number that identifies a memory file with a sealed length for as long as it is open; nil for anything else.
  ///
  /// Only files of memfd_create(2) can be sealed so, and all of them are in one file system, except those of huge
  /// pages. In other file systems, a foreign file can have the same number.
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

// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Facts about another process's file. Reading them never blocks.
struct MemoryFileFacts {
  let seals: CInt
  let access: CInt
  let length: Int
  let inode: UInt64

  /// Throws `notInMemory` for a file of huge pages, because access to them can raise a signal.
  init(of descriptor: CInt) throws(MemoryFile.Flaw) {
    // This call comes first: if the file is not in memory, its file system may delay the other calls.
    seals = fcntl(descriptor, TRIBUNE_F_GET_SEALS)
    guard seals != -1 else { throw .notInMemory }
    var system = statfs()
    var status = stat()
    do throws(Errno) {
      access = try retrying { fcntl(descriptor, F_GETFL) } & O_ACCMODE
      _ = try retrying { unsafe fstatfs(descriptor, &system) }
      _ = try retrying { unsafe fstat(descriptor, &status) }
    } catch {
      throw .failed(error)
    }
    length = Int(status.st_size)
    inode = UInt64(status.st_ino)
    guard system.f_type != HUGETLBFS_MAGIC else { throw .notInMemory }
  }
}

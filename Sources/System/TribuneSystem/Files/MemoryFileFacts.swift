// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// The kernel's facts about a file in memory from another process. Getting them waits for no process.
struct MemoryFileFacts {
  let seals: CInt
  /// `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
  let access: CInt
  /// The length in bytes.
  let length: Int
  let inode: UInt64

  /// - Throws: `notInMemory` also for a file of huge pages: the first access to it can fail for lack of pages, with a
  ///   signal.
  init(of descriptor: CInt) throws(MemoryFile.Flaw) {
    // This call comes first: a file system may have to answer the others.
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

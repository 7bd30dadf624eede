// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// What the kernel says of a file in memory that came from elsewhere. Nobody is waited for.
struct MemoryFileFacts {
  let seals: CInt
  /// `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
  let access: CInt
  /// Bytes.
  let length: Int

  /// - Returns: nil for what is no file in memory, or one of huge pages, which may be short when they are first touched:
  ///   a signal would tell.
  init?(of descriptor: CInt) throws(Errno) {
    // Before anything is asked that a file system answers.
    seals = fcntl(descriptor, TRIBUNE_F_GET_SEALS)
    guard seals != -1 else { return nil }
    access = try retrying { fcntl(descriptor, F_GETFL) } & O_ACCMODE
    var system = statfs()
    _ = try retrying { unsafe fstatfs(descriptor, &system) }
    var status = stat()
    _ = try retrying { unsafe fstat(descriptor, &status) }
    length = Int(status.st_size)
    guard system.f_type != HUGETLBFS_MAGIC else { return nil }
  }
}

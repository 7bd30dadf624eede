// SPDX-License-Identifier: Apache-2.0

import Glibc

package struct SocketFile: Equatable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  /// Returns nil if the file is missing or inaccessible.
  package init?(at path: String) {
    guard let status = Self.status(at: path) else { return nil }
    self.init(status)
  }

  package init?(of descriptor: CInt) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Returns nil if the file is missing or inaccessible.
  package static func isSocket(at path: String) -> Bool? {
    status(at: path).map { $0.st_mode & S_IFMT == S_IFSOCK }
  }

  private static func status(at path: String) -> stat? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status : nil
  }

  /// Does not follow a symbolic link, which any user with write access to the folder could place.
  package static func setMode(_ mode: UInt32, at path: String) throws(Errno) {
    _ = try retrying { unsafe fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) }
  }

  package static func remove(at path: String) throws(Errno) {
    _ = try retrying { unsafe unlink(path) }
  }
}

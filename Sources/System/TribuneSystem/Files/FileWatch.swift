// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Watches files by inotify(7). The descriptor becomes readable when one of the files is removed or moved, or
/// its attributes change.
package struct FileWatch: ~Copyable {
  package let descriptor: FileDescriptor

  package init() throws(Errno) {
    descriptor = FileDescriptor(owning: try retrying { inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK)) })
  }

  /// Watches the file that has this path now, even after a move.
  package func add(_ path: String) throws(Errno) {
    let interest = UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_DONT_FOLLOW)
    let number = descriptor.rawValue
    _ = try retrying { unsafe inotify_add_watch(number, path, interest) }
  }

  /// Discards the changes. Must be called when the descriptor is readable, or else it stays readable.
  package func takeChanges() {
    var bytes = [UInt8](repeating: 0, count: 4096)
    _ = unsafe read(descriptor.rawValue, &bytes, bytes.count)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The file system. Paths and names are raw bytes.
package enum Folder {
  package enum Kind: Equatable, Sendable {
    case folder
    /// A file that this process may run.
    case program
    case other
  }

  /// The names in a folder, without `.` and `..`, in no order.
  package static func names(in path: [UInt8]) throws(Errno) -> [[UInt8]] {
    guard let folder = unsafe opendir(cString(path)) else { throw .current }
    defer { unsafe closedir(folder) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(folder) else {
        if errno != 0 { throw .current }
        return names
      }
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe Array(bytes.prefix { $0 != 0 })
      }
      if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
    }
  }

  /// The kind of what is at a path, through symbolic links; nil if nothing can be seen there.
  package static func kind(of path: [UInt8]) -> Kind? {
    var status = stat()
    guard unsafe stat(cString(path), &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: return .folder
    case S_IFREG where unsafe faccessat(AT_FDCWD, cString(path), X_OK, AT_EACCESS) == 0: return .program
    default: return .other
    }
  }

  /// The path with C's zero at the end.
  static func cString(_ path: [UInt8]) -> [CChar] {
    path.map { CChar(bitPattern: $0) } + [0]
  }
}

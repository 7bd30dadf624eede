// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

/// Reads the small files that a configuration is made of.
nonisolated enum ConfigurationFiles {
  /// Bytes that one file can have.
  static let lengthMax = 1 << 20

  /// The file's bytes; nil when it is longer than `lengthMax`.
  static func contents(of path: String) throws(Errno) -> [UInt8]? {
    // Not waiting for a writer, should somebody have put a pipe there.
    try InputFile.contents(of: path, lengthMax: lengthMax, waits: false)
  }

  /// The names of what is in a directory, in no order; none when there is no directory.
  static func names(in directory: String) throws(Errno) -> [String] {
    guard let stream = unsafe opendir(directory) else {
      if Errno.current == .noSuchFile { return [] }
      throw .current
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw .current }
        return names
      }
      // The name is as long as it is, whatever length <dirent.h> declares.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
        preconditionFailure("a field has an offset")
      }
      let name = unsafe UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      names.append(unsafe String(cString: name))
    }
  }
}

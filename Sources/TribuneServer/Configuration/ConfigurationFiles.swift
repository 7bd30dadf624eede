// SPDX-License-Identifier: Apache-2.0

import Glibc
import TribuneSystem

/// Reads the small files of the configuration.
nonisolated enum ConfigurationFiles {
  /// Bytes that one file may have.
  static let lengthMax = 1 << 20

  /// The file's bytes; nil if it is longer than `lengthMax`.
  static func contents(of path: String) throws(Errno) -> [UInt8]? {
    // Does not wait for a writer, in case the path is a FIFO.
    try InputFile.contents(of: path, lengthMax: lengthMax, waits: false)
  }

  /// The names in a directory, in no particular order; none if the directory does not exist.
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
      // A name may be longer than the array that <dirent.h> declares.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
        preconditionFailure("a field has an offset")
      }
      let name = unsafe UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      names.append(unsafe String(cString: name))
    }
  }
}

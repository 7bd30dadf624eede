// SPDX-License-Identifier: Apache-2.0

import CTribuneLinux
import Glibc

/// Both ends of a pipe, close-on-exec.
struct Pipe: ~Copyable, Sendable {
  let readEnd: FileDescriptor
  let writeEnd: FileDescriptor

  init() throws(Errno) {
    var ends: [CInt] = [-1, -1]
    _ = try retrying { unsafe pipe2(&ends, O_CLOEXEC) }
    readEnd = FileDescriptor(owning: ends[0])
    writeEnd = FileDescriptor(owning: ends[1])
  }
}

/// A file that is only in memory.
enum MemoryFile {
  /// MFD_CLOEXEC, which Glibc's module hides.
  private static let closeOnExec: UInt32 = 1

  /// Makes one that holds `bytes`, to be read from its start.
  static func make(holding bytes: [UInt8]) throws(Errno) -> FileDescriptor {
    let file = FileDescriptor(owning: try retrying { unsafe memfd_create("tribune", closeOnExec) })
    let descriptor = file.rawValue
    var written = 0
    while written < bytes.count {
      written += try retrying {
        unsafe bytes.withUnsafeBytes { bytes in
          let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
          return unsafe write(descriptor, rest.baseAddress, rest.count)
        }
      }
    }
    _ = try retrying { lseek(descriptor, 0, SEEK_SET) }
    return file
  }
}

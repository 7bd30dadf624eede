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

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads bytes from a named pipe or a file as they arrive.
package final class PipeInput: Sendable {
  private let file: FileDescriptor

  /// - Parameter path: the path of a file or a named pipe. A named pipe stays open for its next writer.
  package init(_ path: String) throws(Errno) {
    var status = stat()
    let isPipe = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    let flags = (isPipe ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY
    file = FileDescriptor(owning: try retrying { unsafe open(path, flags) })
  }

  /// Returns the next bytes; none at the end of a file. Does not block the caller's thread.
  package func read() async throws(Errno) -> [UInt8] {
    try await Thread.result { [self] in Result { () throws(Errno) in try readOnce() } }.get()
  }

  private func readOnce() throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let descriptor = file.rawValue
    bytes.removeLast(bytes.count - (try retrying { unsafe Glibc.read(descriptor, &bytes, bytes.count) }))
    return bytes
  }
}

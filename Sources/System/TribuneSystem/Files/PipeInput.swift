// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A named pipe or file, read on arrival.
package final class PipeInput: Sendable {
  private let file: FileDescriptor

  /// - Parameter path: a named pipe stays open for the next writer.
  package init(_ path: String) throws(Errno) {
    var status = stat()
    let isPipe = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    let flags = (isPipe ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY
    file = FileDescriptor(owning: try retrying { unsafe open(path, flags) })
  }

  /// Does not block the thread. Empty at the end of a file.
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

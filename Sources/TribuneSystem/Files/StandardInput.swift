// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What somebody types, or what another program writes.
package enum StandardInput {
  package static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Reads what is there, or what comes next. Nothing is read but what is asked for, and no thread of the
  /// caller's waits.
  ///
  /// - Returns: some bytes; none at the end, and when the terminal is gone.
  package static func read() async throws(Errno) -> [UInt8] {
    let result = await withCheckedContinuation {
      (reader: CheckedContinuation<Result<[UInt8], Errno>, Never>) in
      do throws(Errno) {
        try Thread.start { reader.resume(returning: readOnce()) }
      } catch {
        reader.resume(returning: .failure(error))
      }
    }
    return try result.get()
  }

  /// Reads all that is there and comes, to the end. The caller's thread waits.
  ///
  /// - Returns: nil when there are more than `limit` bytes.
  package static func readAll(limit: Int) throws(Errno) -> [UInt8]? {
    var bytes: [UInt8] = []
    while true {
      let next = try readOnce(65_536).get()
      if next.isEmpty { return bytes }
      guard next.count <= limit - bytes.count else { return nil }
      bytes += next
    }
  }

  /// Forgets what was typed at the terminal and not read yet, a line that was only begun included.
  package static func discardTyped() {
    // Elsewhere than at a terminal there is nothing to forget.
    _ = tcflush(STDIN_FILENO, TCIFLUSH)
  }

  private static func readOnce(_ count: Int = 4096) -> Result<[UInt8], Errno> {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      let count = unsafe Glibc.read(STDIN_FILENO, &bytes, bytes.count)
      if count >= 0 { return .success(Array(bytes[..<count])) }
      switch errno {
      case EINTR: continue
      // Somebody else made it non-blocking.
      case EAGAIN:
        var watched = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&watched, 1, -1)
      // How a terminal ends whose other side has hung up.
      case EIO: return .success([])
      default: return .failure(.current)
      }
    }
  }
}

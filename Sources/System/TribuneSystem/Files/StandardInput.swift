// SPDX-License-Identifier: Apache-2.0

import Glibc

package enum StandardInput {
  package static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Returns the next bytes; none at the end, or if the terminal is gone. Does not block the caller's thread.
  package static func read(atMost count: Int = 4096) async throws(Errno) -> [UInt8] {
    try await Thread.result { Result { () throws(Errno) in try readOnce(count) } }.get()
  }

  /// Waits for input, without blocking the caller's thread. Returns false if the other end is gone.
  package static func waitForInput() async throws(Errno) -> Bool {
    try await Thread.result { Result { () throws(Errno) in try Poll.waitForInput(of: STDIN_FILENO) } }.get()
  }

  /// Reads the whole input, and blocks. Returns nil if the input is longer than `limit` bytes.
  package static func readAll(limit: Int) throws(Errno) -> [UInt8]? {
    var bytes: [UInt8] = []
    while true {
      let next = try readOnce(65_536, endsWithTerminal: false)
      if next.isEmpty { return bytes }
      guard next.count <= limit - bytes.count else { return nil }
      bytes += next
    }
  }

  package static func discardTyped() {
    // This fails only if the input is not a terminal.
    _ = tcflush(STDIN_FILENO, TCIFLUSH)
  }

  private static func readOnce(_ count: Int, endsWithTerminal: Bool = true) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      do throws(Errno) {
        bytes.removeLast(count - (try retrying { unsafe Glibc.read(STDIN_FILENO, &bytes, count) }))
        return bytes
      } catch  where error == .again {
        // Another process made the input non-blocking.
        _ = try Poll.wait(for: STDIN_FILENO, forWriting: false)
      } catch  where error == .inputOutput && endsWithTerminal {
        // The terminal has hung up.
        return []
      }
    }
  }
}

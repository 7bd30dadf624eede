// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The standard input, from a user or from another program.
package enum StandardInput {
  package static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

  /// Reads the available input, or waits for the next. Reads nothing ahead, and does not block the caller's thread.
  ///
  /// - Returns: some bytes, at most `count`; none at the end, and when the terminal is gone.
  package static func read(atMost count: Int = 4096) async throws(Errno) -> [UInt8] {
    try await Thread.result { Result { () throws(Errno) in try readOnce(count) } }.get()
  }

  /// Waits for input, and leaves it to be read. Does not block the caller's thread.
  ///
  /// - Returns: false when the terminal or the other program is gone.
  package static func waitForInput() async throws(Errno) -> Bool {
    try await Thread.result { Result { () throws(Errno) in try Poll.waitForInput(of: STDIN_FILENO) } }.get()
  }

  /// Reads up to the end. Blocks the caller's thread.
  ///
  /// - Returns: nil when there are more than `limit` bytes.
  package static func readAll(limit: Int) throws(Errno) -> [UInt8]? {
    var bytes: [UInt8] = []
    while true {
      let next = try readOnce(65_536, endsWithTerminal: false)
      if next.isEmpty { return bytes }
      guard next.count <= limit - bytes.count else { return nil }
      bytes += next
    }
  }

  /// Discards input that was typed at the terminal and not read yet, including an unfinished line.
  package static func discardTyped() {
    // If this is not a terminal, there is nothing to discard.
    _ = tcflush(STDIN_FILENO, TCIFLUSH)
  }

  private static func readOnce(_ count: Int, endsWithTerminal: Bool = true) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      do throws(Errno) {
        bytes.removeLast(count - (try retrying { unsafe Glibc.read(STDIN_FILENO, &bytes, count) }))
        return bytes
      } catch  where error == .again {
        // Another process made it non-blocking.
        _ = try Poll.wait(for: STDIN_FILENO, forWriting: false)
      } catch  where error == .inputOutput && endsWithTerminal {
        // The other side of the terminal has hung up.
        return []
      }
    }
  }
}

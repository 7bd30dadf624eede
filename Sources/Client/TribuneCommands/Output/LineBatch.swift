// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Collects lines for standard output while more lines are about to follow, and writes them together.
final class LineBatch: Sendable {
  private static let byteCountMax = 65_536

  private struct State {
    var waiting: [UInt8] = []
    var json = NotificationLines()
  }

  private let context: Context
  private let state = Mutex(State())

  init(of context: Context) { self.context = context }

  func add(
    waiting mayWait: Bool, _ append: (inout [UInt8], inout NotificationLines) -> Void
  ) throws(CommandError) {
    let isDue = state.withLock { state in
      append(&state.waiting, &state.json)
      return !mayWait || state.waiting.count >= Self.byteCountMax
    }
    if isDue { try write() }
  }

  func write() throws(CommandError) {
    let bytes = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    // This write is outside the lock: if it blocks, the call of `write` after an interruption must not wait
    // for the lock.
    if !bytes.isEmpty { try context.write(bytes: bytes) }
  }
}

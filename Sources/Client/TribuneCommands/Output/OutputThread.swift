// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// Writes output in order on a separate thread, so callers never wait for a reader that has stopped.
final class OutputThread: Sendable {
  private struct State {
    var waiting: [[UInt8]] = []
    var byteCount = 0
  }

  /// The most bytes that may wait. If no other bytes wait, one call of `write` may add more.
  private static let byteCountMax = 1 << 20

  private let state = Mutex(State())
  private let hasMore: Wakeup
  private let isDone: Wakeup

  init(_ write: @escaping @Sendable ([UInt8]) -> Void) throws(Errno) {
    hasMore = try Wakeup()
    isDone = try Wakeup()
    try Thread.start { [self] in run(write) }
  }

  /// Returns false, and drops the bytes, if too many bytes are waiting.
  func write(_ bytes: [UInt8]) -> Bool {
    let isTaken = state.withLock { state in
      guard state.byteCount == 0 || state.byteCount + bytes.count <= Self.byteCountMax else { return false }
      state.waiting.append(bytes)
      state.byteCount += bytes.count
      return true
    }
    if isTaken { hasMore.signal() }
    return isTaken
  }

  private func run(_ write: ([UInt8]) -> Void) {
    while true {
      let parts = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for part in parts {
        write(part)
        state.withLock { $0.byteCount -= part.count }
      }
      guard parts.isEmpty else { continue }
      isDone.signal()
      hasMore.wait(atMost: .seconds(3600))
    }
  }

  func flush(atMost limit: Duration) {
    let end = SystemClock.monotonicNanoseconds + UInt64(limit / .nanoseconds(1))
    while state.withLock({ $0.byteCount > 0 }), SystemClock.monotonicNanoseconds < end {
      isDone.wait(atMost: .milliseconds(100))
    }
  }
}

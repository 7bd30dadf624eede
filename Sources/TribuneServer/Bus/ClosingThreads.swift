// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// Closes descriptors that clients have passed and the bus does not take, on threads of its own.
///
/// Closing one asks whoever is behind it: a file system in user space answers when it likes, a socket that is to linger
/// waits for its peer, and a file in memory may be larger than the bus would ever take. So each has a thread, which ends
/// with it. Of threads that wait there can be a few; what comes then waits for one of them, and holds a descriptor. How
/// many those of one user are is known (`count(of:)`), for whom nothing more is taken when they are many.
///
/// Nothing helps when the process ends: the kernel then waits for the same answers.
nonisolated final class ClosingThreads: Sendable {
  private static let threadsMax = 16

  private struct State {
    var threadCount = 0
    var waiting: [(descriptor: Int32, user: UInt32)] = []
    /// Those of each user that are not closed yet.
    var counts: [UInt32: Int] = [:]
  }

  /// Held for the moment in which something goes in or out.
  private let state = Mutex(State())

  /// How many descriptors that this user has passed are not closed yet.
  func count(of user: UInt32) -> Int { state.withLock { $0.counts[user] ?? 0 } }

  /// - Parameter user: who has passed it.
  func close(_ descriptor: consuming FileDescriptor, of user: UInt32) {
    let descriptor = descriptor.release()
    let isThreadMissing = state.withLock { state in
      state.waiting.append((descriptor, user))
      state.counts[user, default: 0] += 1
      guard state.threadCount < Self.threadsMax else { return false }
      state.threadCount += 1
      return true
    }
    guard isThreadMissing else { return }
    do throws(Errno) {
      try Thread.start { self.run() }
    } catch {
      // What waits is closed by the next thread, when there is room for one.
      state.withLock { $0.threadCount -= 1 }
    }
  }

  private func run() {
    while let (descriptor, user) = next() {
      FileDescriptor(owning: descriptor).close()
      state.withLock { state in
        let left = (state.counts[user] ?? 1) - 1
        state.counts[user] = left == 0 ? nil : left
      }
    }
  }

  /// - Returns: nil when the thread is to end.
  private func next() -> (descriptor: Int32, user: UInt32)? {
    state.withLock { state in
      if state.waiting.isEmpty {
        state.threadCount -= 1
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// Closes descriptors that clients have passed and the bus does not take, on threads of its own.
///
/// Closing one asks whoever is behind it: a file system in user space answers when it likes, a socket that is to linger
/// waits for its peer, and a file in memory may be larger than the bus would ever take. So each has a thread, which ends
/// with it. Of threads that wait there can be a few, and fewer for one user, who does not keep the others waiting so; what
/// comes then waits for one of them, and holds a descriptor. How many those of one user are is known (`count(of:)`), for
/// whom nothing more is taken when they are many.
///
/// Nothing helps when the process ends: the kernel then waits for the same answers.
nonisolated final class ClosingThreads: Sendable {
  private static let threadsMax = 16
  /// Threads that close what one user has passed.
  private static let threadsPerUserMax = 4

  private struct Load {
    /// Those that are not closed yet, and those of them that a thread closes now.
    var unclosedCount = 0
    var closingCount = 0
  }

  private struct State {
    var threadCount = 0
    var waiting: [(descriptor: Int32, user: UInt32)] = []
    /// Of each user who has passed some of them.
    var loads: [UInt32: Load] = [:]

    func hasThread(for user: UInt32) -> Bool {
      (loads[user]?.closingCount ?? 0) < ClosingThreads.threadsPerUserMax
    }
  }

  /// Held for the moment in which something goes in or out.
  private let state = Mutex(State())

  /// How many descriptors that this user has passed are not closed yet.
  func count(of user: UInt32) -> Int { state.withLock { $0.loads[user]?.unclosedCount ?? 0 } }

  /// - Parameter user: who has passed it.
  func close(_ descriptor: consuming FileDescriptor, of user: UInt32) {
    let descriptor = descriptor.release()
    let isThreadMissing = state.withLock { state in
      state.waiting.append((descriptor, user))
      state.loads[user, default: Load()].unclosedCount += 1
      guard state.threadCount < Self.threadsMax, state.hasThread(for: user) else { return false }
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
        guard var load = state.loads[user] else { preconditionFailure("user \(user) has passed nothing") }
        load.unclosedCount -= 1
        load.closingCount -= 1
        state.loads[user] = load.unclosedCount == 0 ? nil : load
      }
    }
  }

  /// - Returns: nil when the thread is to end.
  private func next() -> (descriptor: Int32, user: UInt32)? {
    state.withLock { state in
      guard let index = state.waiting.firstIndex(where: { state.hasThread(for: $0.user) }) else {
        state.threadCount -= 1
        return nil
      }
      let next = state.waiting.remove(at: index)
      state.loads[next.user]?.closingCount += 1
      return next
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneCore
import TribuneSystem

/// Closes descriptors that clients have passed and that the bus does not keep, on threads of its own.
///
/// Closing a descriptor may block: a file system in user space answers when it likes, a socket may linger for its
/// peer, and a memory file may be larger than any that the bus accepts. So threads close them, and end when nothing
/// is left for them. The number of threads is limited, and lower for one user, so that no user keeps the others
/// waiting. Further descriptors stay open until a thread is free. The user's account says how many are still open; if
/// there are many, the bus accepts no more from that user.
///
/// This does not help when the process ends: the kernel then waits for the same answers.
nonisolated final class ClosingThreads: Sendable {
  private static let threadsMax = 16
  /// Threads that close descriptors of one user.
  private static let threadsPerUserMax = 4

  private struct State {
    var threadCount = 0
    var waiting: [(descriptor: Int32, user: UserDescriptors)] = []

    func hasThread(for user: UserDescriptors) -> Bool {
      user.closing.current < ClosingThreads.threadsPerUserMax
    }
  }

  /// Held only while an entry is added or removed.
  private let state = Mutex(State())

  /// Descriptors that are not closed yet.
  var count: Int { state.withLock { $0.waiting.count + $0.threadCount } }

  /// - Parameter user: the user who passed the descriptor.
  func close(_ descriptor: consuming FileDescriptor, of user: UserDescriptors) {
    let descriptor = descriptor.release()
    let isThreadMissing = state.withLock { state in
      state.waiting.append((descriptor, user))
      user.unclosed.change(by: 1)
      guard state.threadCount < Self.threadsMax, state.hasThread(for: user) else { return false }
      state.threadCount += 1
      return true
    }
    guard isThreadMissing else { return }
    do throws(Errno) {
      try Thread.start { self.run() }
    } catch {
      // The next thread that can be started closes the waiting descriptors.
      state.withLock { $0.threadCount -= 1 }
    }
  }

  private func run() {
    while let (descriptor, user) = next() {
      FileDescriptor(owning: descriptor).close()
      state.withLock { _ in
        user.closing.change(by: -1)
        user.unclosed.change(by: -1)
      }
    }
  }

  /// - Returns: nil if the thread must end.
  private func next() -> (descriptor: Int32, user: UserDescriptors)? {
    state.withLock { state in
      guard let index = state.waiting.firstIndex(where: { state.hasThread(for: $0.user) }) else {
        state.threadCount -= 1
        return nil
      }
      let next = state.waiting.remove(at: index)
      next.user.closing.change(by: 1)
      return next
    }
  }
}

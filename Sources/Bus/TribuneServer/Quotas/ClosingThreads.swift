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
/// A signal ends the wait for a peer, and the descriptor is closed all the same: the kernel goes on by itself. It does
/// not end the wait for a file system. None of this helps when the process ends: the kernel then waits for the same
/// answers.
nonisolated final class ClosingThreads: Sendable {
  private static let threadsMax = 16
  /// Threads that close descriptors of one user.
  private static let threadsPerUserMax = 4

  private struct Waiting {
    let descriptor: Int32
    let user: UserDescriptors
    let isChargedConnection: Bool
  }

  private struct State {
    var threadCount = 0
    var waiting: [Waiting] = []

    func hasThread(for user: UserDescriptors) -> Bool {
      user.closing.current < ClosingThreads.threadsPerUserMax
    }
  }

  /// How long closing a descriptor may wait until it is interrupted; for ever if zero.
  private let patienceMilliseconds: Int
  /// Without threads, descriptors are closed at once.
  private let hasThreads: Bool
  /// Held only while an entry is added or removed.
  private let state = Mutex(State())

  init(patienceMilliseconds: Int = 20, hasThreads: Bool = true) {
    (self.patienceMilliseconds, self.hasThreads) = (patienceMilliseconds, hasThreads)
  }

  /// Descriptors that are not closed yet.
  var count: Int { state.withLock { $0.waiting.count + $0.threadCount } }

  /// - Parameters:
  ///   - user: the user who passed the descriptor.
  ///   - isChargedConnection: whether it is one of the user's `unclosedConnections`.
  func close(
    _ descriptor: consuming FileDescriptor, of user: UserDescriptors, isChargedConnection: Bool = false
  ) {
    guard hasThreads else {
      descriptor.close()
      if isChargedConnection { user.unclosedConnections.change(by: -1) }
      return
    }
    let waiting = Waiting(
      descriptor: descriptor.release(), user: user, isChargedConnection: isChargedConnection)
    let isThreadMissing = state.withLock { state in
      state.waiting.append(waiting)
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
    let interrupter = Interrupter()
    while let closed = next() {
      interrupter.interrupt(everyMilliseconds: patienceMilliseconds) {
        FileDescriptor(owning: closed.descriptor).close()
      }
      state.withLock { _ in
        closed.user.closing.change(by: -1)
        closed.user.unclosed.change(by: -1)
        if closed.isChargedConnection { closed.user.unclosedConnections.change(by: -1) }
      }
    }
  }

  /// - Returns: nil if the thread must end.
  private func next() -> Waiting? {
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

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneCore
import TribuneSystem

/// Closes descriptors that clients have passed, on separate threads.
///
/// Closing can block: on a file system in user space, a lingering socket, or a huge memory file. The number
/// of threads is limited, in total and for each user, because one user must not occupy all threads. If a user
/// has many unclosed descriptors, the bus refuses further ones of this user.
///
/// If close(2) waits for a socket's peer, a signal ends the wait, and the kernel still closes the descriptor.
/// A wait for a file system ignores signals. Such a wait delays even the end of this process, because a
/// process ends only when all its descriptors are closed.
nonisolated final class ClosingThreads: Sendable {
  private static let threadsMax = 16
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

  /// The interval of the signals that interrupt close(2); 0 for no signals.
  private let patienceMilliseconds: Int
  private let hasThreads: Bool
  private let state = Mutex(State())

  init(patienceMilliseconds: Int = 20, hasThreads: Bool = true) {
    (self.patienceMilliseconds, self.hasThreads) = (patienceMilliseconds, hasThreads)
  }

  var count: Int { state.withLock { $0.waiting.count + $0.threadCount } }

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
      // A running thread, or the next one that can be started, closes the waiting descriptors.
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

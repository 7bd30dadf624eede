// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// The scheduler of a link's thread. The thread receives frames, then does the work that waits (a *turn*),
/// which runs client code, then receives again.
///
/// The thread that receives a question also calls the delegate, and runs the executor's tasks. Waking another
/// thread would take longer than the rest of a quick answer.
///
/// If client code blocks the thread, a second thread receives, and further work goes to Swift's threads. When
/// the client code returns, the first thread ends if the second one is receiving, and receives if not. Until
/// then, no third thread starts, so a link never has more than two threads.
final class LinkScheduler: Sendable {
  /// How long a turn of work may take. `watch` checks at this interval, and notices a longer turn.
  private static let turnLimit = Duration.milliseconds(10)

  private let link: Link
  /// The receiving thread holds this lock while it receives. Other threads never wait for the lock.
  private let receiver: Mutex<LinkThread>

  init(_ link: Link, _ receiver: consuming sending LinkThread) {
    self.link = link
    self.receiver = Mutex(receiver)
  }

  func takeTurns() {
    let own = Thread.ID.current
    while let next = receiver.withLockIfAvailable({ receive(own, &$0) }) {
      guard case .work(let turn, let count, let isWatched) = next else {
        return handOver(link.work.withLock { $0.end() })
      }
      if !isWatched { Task { [self] in await watch() } }
      for _ in 0..<count {
        guard let work = link.work.withLock({ $0.next(in: turn) }) else { break }
        work.run(on: link)
      }
      link.work.withLock { $0.endWorking(turn) }
    }
  }

  private func receive(_ own: Thread.ID, _ receiver: inout LinkThread) -> WorkQueue.Next {
    link.work.withLock { $0.beginReceiving(own) }
    var isWaiting = link.work.withLock { $0.isEmpty }
    while receiver.receive(isWaiting: isWaiting) {
      isWaiting = true
      switch link.work.withLock({ $0.next() }) {
      case .receive: continue
      case .handOver(let work): handOver(work)
      case let next: return next
      }
    }
    return .receive
  }

  private func handOver(_ all: [WorkQueue.Work]) {
    for work in all {
      if case .job(let job) = work {
        globalConcurrentExecutor.enqueue(job)
      } else {
        Task { [link] in work.run(on: link) }
      }
    }
  }

  /// Checks periodically whether client code blocks the thread. If so, starts another thread that receives.
  private func watch() async {
    var turn = link.work.withLock { $0.lastTurn }
    while true {
      do {
        try await Task.sleep(for: Self.turnLimit)
      } catch {
        preconditionFailure("the task that watches a link was cancelled")
      }
      switch link.work.withLock({ $0.check(after: turn) }) {
      case .nothing: return
      case .turns(let last): turn = last
      case .takeover:
        do throws(Errno) {
          return try Thread.start { [self] in takeTurns() }
        } catch {
          link.work.withLock { $0.cancelTakeover(turn) }
        }
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// Alternates a link's thread between receiving and working.
///
/// The thread that receives a question also calls the delegate with it, and runs the executor's tasks. To wake another
/// thread would cost more than the rest of a quick answer.
///
/// If the client's code blocks that thread, another thread takes over receiving, and work goes to Swift's threads until
/// the first thread is free. Once the first thread is free, it ends if the other thread receives. So a link never has
/// more than two threads.
final class LinkScheduler: Sendable {
  /// How long a turn of work may take. A periodic check notices an overrun, at most this time later.
  private static let turnLimit = Duration.milliseconds(10)

  private let link: Link
  /// The thread that holds the lock receives, for a whole turn. Other threads never wait for the lock.
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

  /// While work may come, checks periodically whether another thread must receive, and starts it.
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

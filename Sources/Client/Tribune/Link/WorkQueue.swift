// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// The queue of work that runs client code, and the roles of the link's threads: which one receives, and
/// which one works (`LinkScheduler`).
///
/// Work waits until the receiving thread has handled all frames that it read. Threads do not run client code
/// while they hold the lock of `Link.work`.
struct WorkQueue {
  enum Work: Sendable {
    case question(OpenQuestion)
    case conclusion(OpenQuestion, Conclusion.Ending)
    case deliveries(AttachedDelegate)
    case job(UnownedJob)
  }

  enum Next {
    case receive
    case work(turn: UInt64, count: Int, isWatched: Bool)
    case handOver([Work])
  }

  /// The roles of the threads. Each arrow lists the cases that can follow.
  private enum Turn: Equatable {
    /// A thread receives, or will receive next. → working, ended
    case receiving
    /// The thread that received does the work of the turn with this number. → receiving, takenOver
    case working(UInt64)
    /// A second thread receives, or is starting. → receiving, ended, or working if the start fails
    case takenOver(UInt64)
    /// New work goes to Swift's threads. Final.
    case ended
  }

  private var work = Ring<Work>()
  private var turn = Turn.receiving
  private var thread: Thread.ID?
  private(set) var lastTurn: UInt64 = 0
  private var isWatched = false

  var isEmpty: Bool { work.count == 0 }

  /// Only the receiving thread calls this method, so the method need not wake a thread.
  mutating func append(_ new: Work) { work.append(new) }

  enum Enqueued {
    case waits
    case wakes
    case isForOthers
  }

  mutating func enqueue(_ job: UnownedJob, from caller: Thread.ID) -> Enqueued {
    let enqueued: Enqueued
    switch turn {
    case .receiving: enqueued = thread == caller ? .waits : .wakes
    case .working: enqueued = .waits
    case .takenOver, .ended: return .isForOthers
    }
    work.append(.job(job))
    return enqueued
  }

  // MARK: Turns

  mutating func beginReceiving(_ own: Thread.ID) {
    thread = own
    if case .working(let number) = turn { turn = .takenOver(number) }
  }

  mutating func next() -> Next {
    if isEmpty { return .receive }
    guard turn == .receiving else { return .handOver(takeAll()) }
    lastTurn += 1
    turn = .working(lastTurn)
    defer { isWatched = true }
    return .work(turn: lastTurn, count: work.count, isWatched: isWatched)
  }

  mutating func next(in number: UInt64) -> Work? { turn == .working(number) ? work.popFirst() : nil }

  mutating func endWorking(_ number: UInt64) {
    if turn == .working(number) || turn == .takenOver(number) { turn = .receiving }
  }

  mutating func end() -> [Work] {
    turn = .ended
    return takeAll()
  }

  private mutating func takeAll() -> [Work] {
    var all: [Work] = []
    while let first = work.popFirst() { all.append(first) }
    return all
  }

  // MARK: Watching

  enum CheckResult {
    /// The checks end: no new turn has begun, another thread has taken over, or the link has ended.
    case nothing
    case turns(UInt64)
    /// A turn of work takes too long, so another thread must receive.
    case takeover
  }

  mutating func check(after last: UInt64) -> CheckResult {
    switch turn {
    case .receiving where lastTurn == last, .takenOver, .ended:
      isWatched = false
      return .nothing
    case .working(last):
      turn = .takenOver(last)
      isWatched = false
      return .takeover
    case .receiving, .working:
      return .turns(lastTurn)
    }
  }

  mutating func cancelTakeover(_ number: UInt64) {
    guard turn == .takenOver(number) else { return }
    turn = .working(number)
    isWatched = true
  }
}

extension WorkQueue.Work {
  func run(on link: Link) {
    switch self {
    case .question(let open): open.start(on: link)
    case .conclusion(let open, let ending): open.conclude(ending, here: true)
    case .deliveries(let attached): attached.startDelivering()
    // The unowned reference is valid, because a link lives at least as long as its threads.
    case .job(let job): unsafe job.runSynchronously(on: link.asUnownedTaskExecutor())
    }
  }
}

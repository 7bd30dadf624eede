// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// Work that runs client code, and whose turn it is.
///
/// A link's thread receives and works in turns (`Lookout`). Work for a delegate waits here until the thread has
/// handled all that it read, and so does a task of the connection's executor. The lock is held briefly, and nothing
/// runs under it.
struct WorkQueue {
  /// An item that runs client code.
  enum Work: Sendable {
    case question(OpenQuestion)
    case conclusion(OpenQuestion, Conclusion.Ending)
    case news(AttachedDelegate)
    case job(UnownedJob)
  }

  /// What the receiving thread does next.
  enum Next {
    case receive
    /// This many items, in the work turn of this number.
    case work(turn: UInt64, count: Int, isWatched: Bool)
    /// Swift's own threads run this.
    case handOver([Work])
  }

  private var work = Ring<Work>()
  /// The thread whose turn it is.
  private var thread: Thread.ID?
  /// The number of the last work turn.
  private(set) var lastTurn: UInt64 = 0
  /// The current work turn; nil while a thread receives.
  private var working: UInt64?
  /// A work turn that is not over yet, though another thread has taken over receiving.
  private var relieved: UInt64?
  /// Whether a task checks that work turns end.
  private var isWatched = false
  /// Whether no thread will run what is appended.
  private var hasEnded = false

  var isEmpty: Bool { work.count == 0 }

  /// Called by the receiving thread.
  mutating func append(_ new: Work) { work.append(new) }

  /// What happens to a task's job.
  enum Enqueued {
    case waits
    /// The thread must be woken to run it.
    case wakes
    /// One of Swift's own threads runs it.
    case isForOthers
  }

  mutating func enqueue(_ job: UnownedJob, from caller: Thread.ID) -> Enqueued {
    if hasEnded || relieved != nil { return .isForOthers }
    work.append(.job(job))
    return working != nil || thread == caller ? .waits : .wakes
  }

  // MARK: Turns

  /// A thread begins to receive.
  mutating func beginReceiving(_ own: Thread.ID) {
    thread = own
    // Another thread's work turn is not over.
    if let working { relieved = working }
    working = nil
  }

  /// The receiving thread has handled what it read.
  mutating func next() -> Next {
    if isEmpty { return .receive }
    if relieved != nil { return .handOver(takeAll()) }
    lastTurn += 1
    working = lastTurn
    defer { isWatched = true }
    return .work(turn: lastTurn, count: work.count, isWatched: isWatched)
  }

  /// The next item of a work turn; nil when there is none, or when another thread has taken over.
  mutating func next(in turn: UInt64) -> Work? {
    working == turn ? work.popFirst() : nil
  }

  /// The thread of that work turn is back from it.
  mutating func endWorking(_ turn: UInt64) {
    if working == turn { working = nil }
    if relieved == turn { relieved = nil }
  }

  /// No thread receives any more.
  ///
  /// - Returns: the work that is left for Swift's own threads.
  mutating func end() -> [Work] {
    hasEnded = true
    return takeAll()
  }

  private mutating func takeAll() -> [Work] {
    var all: [Work] = []
    while let first = work.popFirst() { all.append(first) }
    return all
  }

  // MARK: Watching

  /// What a check of the work turns finds.
  enum Sighting {
    /// Checking ends: no work since the last check, another thread took over already, or the link has ended.
    case nothing
    /// Work turns end in time; has the number of the last one.
    case turns(UInt64)
    /// A work turn has not ended in time: another thread must receive.
    case relief
  }

  /// - Parameter turn: the last work turn at the time of the previous check.
  mutating func look(after turn: UInt64) -> Sighting {
    if hasEnded || (working == nil && lastTurn == turn) || relieved != nil {
      isWatched = false
      return .nothing
    }
    guard working == turn else { return .turns(lastTurn) }
    relieved = turn
    working = nil
    isWatched = false
    return .relief
  }

  /// No thread could be started.
  mutating func takeReliefBack(_ turn: UInt64) {
    guard relieved == turn else { return }
    relieved = nil
    working = turn
    isWatched = true
  }
}

extension WorkQueue.Work {
  /// Runs the code on the calling thread, up to its first suspension.
  func run(on link: Link) {
    switch self {
    case .question(let open): open.start(on: link)
    case .conclusion(let open, let ending): open.conclude(ending, here: true)
    case .news(let attached): attached.startTelling()
    // The link exists for as long as it has a thread.
    case .job(let job): unsafe job.runSynchronously(on: link.asUnownedTaskExecutor())
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneSystem

/// What is to be done for code that is not ours, and whose turn it is.
///
/// A link's thread receives and works in turns (`Lookout`). What it received that is for a delegate waits here
/// until it has taken in all that it read; so does a task of the connection's executor. The lock is taken for
/// moments, and nothing is run under it.
struct WorkQueue {
  /// Something that runs code that is not ours.
  enum Work: Sendable {
    case question(OpenQuestion)
    case conclusion(OpenQuestion, Conclusion.Ending)
    case news(AttachedDelegate)
    case job(UnownedJob)
  }

  /// What the thread that receives is to do next.
  enum Next {
    case receive
    /// So much, in a turn of that number.
    case work(turn: UInt64, count: Int, isWatched: Bool)
    /// Swift's own threads are to do this.
    case handOver([Work])
  }

  private var work = Ring<Work>()
  /// The thread whose turn it is.
  private var thread: Thread.ID?
  /// Turns of working are numbered.
  private(set) var lastTurn: UInt64 = 0
  /// The turn of working that it is; nil while a thread receives.
  private var working: UInt64?
  /// The turn of working that another thread does not wait for any longer, and which is not over yet.
  private var relieved: UInt64?
  /// Somebody looks whether turns of working come to their end.
  private var isWatched = false
  /// No thread will come for what is appended.
  private var hasEnded = false

  var isEmpty: Bool { work.count == 0 }

  /// Called by the thread that receives.
  mutating func append(_ new: Work) { work.append(new) }

  /// What becomes of a task's job.
  enum Enqueued {
    case waits
    /// The thread has to be woken to come for it.
    case wakes
    /// One of Swift's own threads is to run it.
    case isForOthers
  }

  mutating func enqueue(_ job: UnownedJob, from caller: Thread.ID) -> Enqueued {
    if hasEnded || relieved != nil { return .isForOthers }
    work.append(.job(job))
    return working != nil || thread == caller ? .waits : .wakes
  }

  // MARK: Turns

  /// A thread receives from now on.
  mutating func beginReceiving(_ own: Thread.ID) {
    thread = own
    // The turn of another, which is not over.
    if let working { relieved = working }
    working = nil
  }

  /// The thread that receives has taken in what it read.
  mutating func next() -> Next {
    if isEmpty { return .receive }
    if relieved != nil { return .handOver(takeAll()) }
    lastTurn += 1
    working = lastTurn
    defer { isWatched = true }
    return .work(turn: lastTurn, count: work.count, isWatched: isWatched)
  }

  /// What comes next in a turn of working; nil when there is nothing, or when the turn was ended from outside.
  mutating func next(in turn: UInt64) -> Work? {
    working == turn ? work.popFirst() : nil
  }

  /// The thread that had that turn of working is back from it.
  mutating func endWorking(_ turn: UInt64) {
    if working == turn { working = nil }
    if relieved == turn { relieved = nil }
  }

  /// No thread receives any more.
  ///
  /// - Returns: what others are to do.
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

  /// What somebody finds who looks at the turns now and then.
  enum Sighting {
    /// Nothing has been worked at for as long as that.
    case nothing
    /// Turns come to their end.
    case turns(UInt64)
    /// One has not, and is not waited for any longer: another thread has to receive.
    case relief
  }

  /// - Parameter turn: the last that there had been when somebody last looked.
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

  /// There was no thread to be had.
  mutating func takeReliefBack(_ turn: UInt64) {
    guard relieved == turn else { return }
    relieved = nil
    working = turn
    isWatched = true
  }
}

extension WorkQueue.Work {
  /// Runs the code here and now, as far as it goes without suspending.
  func run(on link: Link) {
    switch self {
    case .question(let open): open.start(on: link)
    case .conclusion(let open, let ending): open.conclude(ending, here: true)
    case .news(let attached): attached.startTelling()
    // The link is there for as long as it has a thread.
    case .job(let job): unsafe job.runSynchronously(on: link.asUnownedTaskExecutor())
    }
  }
}

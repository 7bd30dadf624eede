// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TribuneSystem
import TribuneWire

/// Writes to the journal from a thread of its own.
///
/// The journal receives entries through a datagram socket, and a sender blocks while that socket is full: as long as
/// journald is stopped, hangs, or waits for a disk. The bus must not block. So entries go into a queue, and a thread
/// that does nothing else sends them.
///
/// The queue is bounded in entries and in bytes, including the entries that are being sent. An entry that does not
/// fit is dropped and counted. The count is written next, ahead of waiting entries; further ones after as many entries as
/// the queue holds, or when it is empty, so that a slow journal does not get counts instead of entries. When the bus ends,
/// the journal gets a bounded time to accept the rest.
///
/// What users cause has half of the queue, and each user no more of it than is left for the others: nobody can drown the
/// bus's own entries, root's verdicts, or those of many others.
///
/// Two threads share the queue, which is one of the few places with a lock. The lock is held only while an entry is
/// added or removed, never while one is written.
nonisolated package final class JournalWriter: Sendable {
  /// The most entries that wait at a time, and their bytes.
  package static let entriesMax = 4_096
  package static let bytesMax = 8 << 20

  private let queue: JournalQueue

  /// - Parameter send: sends one entry to the journal. It may block.
  /// - Throws: when no thread or no descriptor is available.
  package init(send: @escaping @Sendable (JournalEntry) -> Void = { $0.send() }) throws(Errno) {
    let queue = try JournalQueue()
    self.queue = queue
    try Thread.start { queue.run(send) }
  }

  deinit { queue.end() }

  /// Queues an entry, or drops it. Does not wait.
  ///
  /// - Parameter user: who caused it; nil for the bus itself.
  package func write(_ item: JournalItem, for user: UInt32? = nil) {
    queue.append(item, for: user.flatMap { ThisProcess.isPrivileged($0) ? nil : $0 })
  }

  /// Waits until everything has been written, for `limit` at most.
  ///
  /// - Returns: whether everything has been written.
  @discardableResult
  package func flush(within limit: Duration) -> Bool { queue.drain(within: limit) }
}

/// A journal entry, or a verdict that becomes one.
nonisolated package enum JournalItem: Sendable {
  case entry(JournalEntry)
  /// The writer's thread formats it, which saves the bus the time.
  case verdict(VerdictEntry)

  fileprivate var entry: JournalEntry {
    switch self {
    case .entry(let entry): entry
    case .verdict(let verdict): verdict.journalEntry
    }
  }

  fileprivate var byteCount: Int {
    switch self {
    case .entry(let entry): entry.byteCount
    case .verdict(let verdict): verdict.byteCount
    }
  }
}

/// The state that the writer and its thread share.
nonisolated private final class JournalQueue: Sendable {
  private struct Waiting {
    let item: JournalItem
    let user: UInt32?
    let byteCount: Int
  }

  /// Waiting entries and those that the thread has taken but not yet written, and their bytes.
  private struct Use {
    var entries = 0
    var bytes = 0

    static func += (one: inout Use, bytes: Int) {
      one.entries += 1
      one.bytes += bytes
    }

    static func -= (one: inout Use, bytes: Int) {
      one.entries -= 1
      one.bytes -= bytes
    }
  }

  private struct State {
    var waiting: [Waiting] = []
    var use = Use()
    /// Of each user but the privileged ones, and of all these together.
    var userUse: [UInt32: Use] = [:]
    var usersUse = Use()
    /// Dropped entries that have not been reported yet.
    var droppedCount = 0
    /// Entries that may be written before drops are reported again.
    var untilReport = 0
    /// The thread waits for `work`.
    var threadIsIdle = false
    var isDraining = false
    var isEnded = false

    var isEmpty: Bool { use.entries == 0 && droppedCount == 0 }

    /// Adds an entry, or counts it as dropped.
    mutating func add(_ entry: Waiting) {
      guard use.entries < JournalWriter.entriesMax, use.bytes + entry.byteCount <= JournalWriter.bytesMax,
        entry.user.map({ hasShare($0, entry.byteCount) }) ?? true
      else {
        droppedCount += 1
        return
      }
      waiting.append(entry)
      use += entry.byteCount
      guard let user = entry.user else { return }
      userUse[user, default: Use()] += entry.byteCount
      usersUse += entry.byteCount
    }

    private func hasShare(_ user: UInt32, _ bytes: Int) -> Bool {
      let own = userUse[user] ?? Use()
      return own.entries < JournalWriter.entriesMax / 2 - usersUse.entries
        && own.bytes + bytes <= JournalWriter.bytesMax / 2 - usersUse.bytes
    }

    mutating func remove(_ entry: Waiting) {
      use -= entry.byteCount
      untilReport -= 1
      guard let user = entry.user else { return }
      usersUse -= entry.byteCount
      userUse[user, default: Use()] -= entry.byteCount
      if userUse[user]?.entries == 0 { userUse[user] = nil }
    }

    /// The number of dropped entries to report now.
    mutating func takeDropped() -> Int {
      guard droppedCount > 0, untilReport <= 0 || use.entries == 0 else { return 0 }
      untilReport = JournalWriter.entriesMax
      defer { droppedCount = 0 }
      return droppedCount
    }
  }

  private let state = Mutex(State())
  private let work: Wakeup
  private let drained: Wakeup

  init() throws(Errno) {
    work = try Wakeup()
    drained = try Wakeup()
  }

  func append(_ item: JournalItem, for user: UInt32?) {
    let entry = Waiting(item: item, user: user, byteCount: item.byteCount)
    let threadIsIdle = state.withLock { state in
      state.add(entry)
      defer { state.threadIsIdle = false }
      return state.threadIsIdle
    }
    if threadIsIdle { work.signal() }
  }

  func end() {
    state.withLock { $0.isEnded = true }
    work.signal()
  }

  func drain(within limit: Duration) -> Bool {
    let deadline = ContinuousClock.now + limit
    while true {
      let isEmpty = state.withLock { state in
        state.isDraining = !state.isEmpty
        return state.isEmpty
      }
      if isEmpty { return true }
      let left = ContinuousClock.now.duration(to: deadline)
      guard left > .zero else { return false }
      drained.wait(atMost: left)
    }
  }

  /// The thread's body. It ends when everything is written and no writer is left.
  func run(_ send: (JournalEntry) -> Void) {
    while true {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      reportDropped(send)
      for entry in waiting {
        send(entry.item.entry)
        state.withLock { $0.remove(entry) }
        reportDropped(send)
      }
      let (isIdle, isDraining, isEnded) = state.withLock { state in
        state.threadIsIdle = state.isEmpty
        return (state.isEmpty, state.isDraining, state.isEnded)
      }
      guard isIdle else { continue }
      if isDraining { drained.signal() }
      if isEnded { return }
      work.wait(atMost: .seconds(3600))
    }
  }

  private func reportDropped(_ send: (JournalEntry) -> Void) {
    let count = state.withLock { $0.takeDropped() }
    guard count > 0 else { return }
    let dropped = count.counted("entry was", "entries were")
    var entry = JournalEntry(.warning, "the journal did not keep up: \(dropped) dropped")
    entry.append("TRIBUNE_DROPPED", String(count))
    send(entry)
  }
}

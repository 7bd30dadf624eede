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
/// fit is dropped and counted. The count is written next, ahead of waiting entries. Once full, the queue accepts
/// nothing until it is half empty, and then reports what else was dropped, so that a slow journal does not get counts
/// instead of entries. When the bus ends, the journal gets a bounded time to accept the rest.
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
  package func write(_ item: JournalItem) { queue.append(item) }

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
  private struct State {
    var items: [JournalItem] = []
    /// These count waiting entries and those that the thread has taken but not yet written.
    var entryCount = 0
    var byteCount = 0
    /// Dropped entries that have not been reported yet.
    var droppedCount = 0
    /// The thread waits for `work`.
    var threadIsIdle = false
    var isDraining = false
    var isEnded = false

    /// The queue was full, and is not yet half empty.
    var isFull = false
    /// Drops have been reported once since the queue was full.
    var hasReportedDropped = false

    var isEmpty: Bool { entryCount == 0 && droppedCount == 0 }

    /// - Returns: whether the entry was added.
    mutating func add(_ item: JournalItem, _ bytes: Int) -> Bool {
      if isFull || entryCount == JournalWriter.entriesMax || byteCount + bytes > JournalWriter.bytesMax {
        isFull = true
        return false
      }
      items.append(item)
      entryCount += 1
      byteCount += bytes
      return true
    }

    mutating func remove(_ bytes: Int) {
      entryCount -= 1
      byteCount -= bytes
    }

    /// The number of dropped entries to report now.
    mutating func takeDropped() -> Int {
      if entryCount <= JournalWriter.entriesMax / 2, byteCount <= JournalWriter.bytesMax / 2 {
        isFull = false
        hasReportedDropped = false
      }
      if isFull, hasReportedDropped { return 0 }
      hasReportedDropped = isFull
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

  func append(_ item: JournalItem) {
    let byteCount = item.byteCount
    let threadIsIdle = state.withLock { state in
      if !state.add(item, byteCount) { state.droppedCount += 1 }
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
      let items = state.withLock { state in
        defer { state.items = [] }
        return state.items
      }
      reportDropped(send)
      for item in items {
        send(item.entry)
        let byteCount = item.byteCount
        state.withLock { $0.remove(byteCount) }
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

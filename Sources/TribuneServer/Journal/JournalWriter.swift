// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
package import TribuneSystem
import TribuneWire

/// Writes to the journal from a thread of its own.
///
/// The journal takes an entry through a datagram socket, and whoever sends to it waits when the socket is
/// full: for as long as journald is stopped, hangs, or is itself waiting for a disk. The bus must not wait
/// with it. So entries go into a queue, and one thread, which does nothing else, takes them out and waits.
///
/// The queue is bounded in entries and in bytes, what is being sent counted in. An entry that does not fit
/// is dropped, and counted; the count is the next thing that is written, ahead of what still waits. A full queue
/// takes nothing more until it is half empty, and then says what else was dropped, so that a journal which is
/// too slow is not given counts in place of entries. When the bus ends, it gives the journal a bounded time to
/// take the rest.
///
/// This is one of the few places that two threads share, and so has a lock. It is held for the moment in
/// which an entry goes in or out, never while one is written.
nonisolated package final class JournalWriter: Sendable {
  /// Entries that wait at a time, and their bytes.
  package static let entriesMax = 4_096
  package static let bytesMax = 8 << 20

  private let queue: JournalQueue

  /// - Parameter send: hands one entry to the journal, and may wait as long as it must.
  /// - Throws: when there can be no thread for it, or no descriptors.
  package init(send: @escaping @Sendable (JournalEntry) -> Void = { $0.send() }) throws(Errno) {
    let queue = try JournalQueue()
    self.queue = queue
    try Thread.start { queue.run(send) }
  }

  deinit { queue.end() }

  /// Has an entry written, or drops it. Does not wait.
  package func write(_ item: JournalItem) { queue.append(item) }

  /// Waits until everything has been written, for `limit` at most.
  ///
  /// - Returns: whether it has.
  @discardableResult
  package func flush(within limit: Duration) -> Bool { queue.drain(within: limit) }
}

/// What is written: an entry, or what the thread makes one of.
nonisolated package enum JournalItem: Sendable {
  case entry(JournalEntry)
  /// Its text is put together by the thread that writes it, so that the bus does not take the time.
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

/// What the writer and its thread share.
nonisolated private final class JournalQueue: Sendable {
  private struct State {
    var items: [JournalItem] = []
    /// Of the queue and of what the thread has taken and not yet written.
    var entryCount = 0
    var byteCount = 0
    /// Entries for which there was no room, and of which nothing has been said yet.
    var droppedCount = 0
    /// The thread waits for `work`.
    var threadIsIdle = false
    var isDraining = false
    var isEnded = false

    /// It was full, and is not half empty yet.
    var isFull = false
    /// What was dropped has been counted once since it was full.
    var hasSaidDropped = false

    var isEmpty: Bool { entryCount == 0 && droppedCount == 0 }

    /// Whether the entry went in.
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

    /// How many dropped entries are to be spoken of now.
    mutating func takeDropped() -> Int {
      if entryCount <= JournalWriter.entriesMax / 2, byteCount <= JournalWriter.bytesMax / 2 {
        isFull = false
        hasSaidDropped = false
      }
      if isFull, hasSaidDropped { return 0 }
      hasSaidDropped = isFull
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
      Self.wait(for: drained, atMost: left)
    }
  }

  /// The thread. Ends once everything is written and nobody can write more.
  func run(_ send: (JournalEntry) -> Void) {
    while true {
      let items = state.withLock { state in
        defer { state.items = [] }
        return state.items
      }
      sayDropped(send)
      for item in items {
        send(item.entry)
        let byteCount = item.byteCount
        state.withLock { $0.remove(byteCount) }
        sayDropped(send)
      }
      let (isIdle, isDraining, isEnded) = state.withLock { state in
        state.threadIsIdle = state.isEmpty
        return (state.isEmpty, state.isDraining, state.isEnded)
      }
      guard isIdle else { continue }
      if isDraining { drained.signal() }
      if isEnded { return }
      Self.wait(for: work, atMost: .seconds(3600))
    }
  }

  private func sayDropped(_ send: (JournalEntry) -> Void) {
    let count = state.withLock { $0.takeDropped() }
    guard count > 0 else { return }
    let dropped = count.counted("entry was", "entries were")
    var entry = JournalEntry(.warning, "the journal did not keep up: \(dropped) dropped")
    entry.append("TRIBUNE_DROPPED", String(count))
    send(entry)
  }

  private static func wait(for wakeup: borrowing Wakeup, atMost limit: Duration) {
    do {
      _ = try Poll.wait(for: wakeup, timeout: limit)
    } catch {
      // The kernel has no memory to wait with: a moment later it may.
      usleep(10_000)
    }
    wakeup.clear()
  }
}

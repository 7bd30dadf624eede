// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TribuneSystem
import TribuneWire

/// Writes to the journal on a separate thread.
///
/// Sending blocks while the journal's datagram socket is full, for example because journald waits for a disk.
/// The bus must not block.
///
/// The queue has a limit of entries and of bytes. It drops and counts excess entries. The writer reports the
/// first count at once. It makes the next report when no entry waits, or after `entriesMax` further entries.
/// With more reports, a slow journal would get reports instead of entries.
///
/// Unprivileged users share half of the queue. The queue drops a user's entry if this user already uses as
/// much of the half as is still free. So no user can displace the entries of the bus, of root or of others.
///
/// Two threads share the queue under a lock. The writer does not hold the lock during a write.
nonisolated package final class JournalWriter: Sendable {
  package static let entriesMax = 4_096
  package static let bytesMax = 8 << 20

  private let queue: JournalQueue

  /// - Parameter send: writes an entry. The writer's thread calls `send`, so `send` is allowed to block.
  package init(send: @escaping @Sendable (JournalEntry) -> Void = { $0.send() }) throws(Errno) {
    let queue = try JournalQueue()
    self.queue = queue
    try Thread.start { queue.run(send) }
  }

  deinit { queue.end() }

  package func write(_ item: JournalItem, for user: UInt32? = nil) {
    queue.append(item, for: user.flatMap { ThisProcess.isPrivileged($0) ? nil : $0 })
  }

  /// - Returns: true if all entries were written within `limit`.
  @discardableResult
  package func flush(within limit: Duration) -> Bool { queue.drain(within: limit) }
}

nonisolated package enum JournalItem: Sendable {
  case entry(JournalEntry)
  /// The writer's thread formats the verdict, which saves the bus time.
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

nonisolated private final class JournalQueue: Sendable {
  private struct Waiting {
    let item: JournalItem
    let user: UInt32?
    let byteCount: Int
  }

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
    /// The use by each unprivileged user.
    var userUse: [UInt32: Use] = [:]
    /// The sum of `userUse`.
    var usersUse = Use()
    var droppedCount = 0
    var untilReport = 0
    var threadIsIdle = false
    var isDraining = false
    var isEnded = false

    var isEmpty: Bool { use.entries == 0 && droppedCount == 0 }

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

  func run(_ send: (JournalEntry) -> Void) {
    while true {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      writeDroppedCount(send)
      for entry in waiting {
        send(entry.item.entry)
        state.withLock { $0.remove(entry) }
        writeDroppedCount(send)
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

  private func writeDroppedCount(_ send: (JournalEntry) -> Void) {
    let count = state.withLock { $0.takeDropped() }
    guard count > 0 else { return }
    let dropped = count.counted("entry was", "entries were")
    var entry = JournalEntry(.warning, "the journal did not keep up: \(dropped) dropped")
    entry.append("MESSAGE_ID", VerdictEntry.omittedMessageID)
    entry.append("TRIBUNE_DROPPED", String(count))
    send(entry)
  }
}

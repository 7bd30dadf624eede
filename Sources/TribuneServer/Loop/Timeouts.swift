// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// All deadlines of the server, the earliest first, in whatever order they were added.
///
/// A timeout that nobody needs any more stays until it is due, or until it is the first and `drop` takes it out: whoever
/// is told that it is due checks whether there is still something to do.
nonisolated struct Timeouts {
  enum Kind: CaseIterable {
    /// A connection has said hello.
    case hello
    /// A frame that began has ended.
    case frame
    /// An observer has caught up.
    case pace
    /// A connection has read why it is closed.
    case close
    /// An observer has taken the files that it was sent.
    case pass
    /// A connection that has to connect again has done so.
    case detached
    /// There may be descriptors again for those who want to connect.
    case accept
    /// What the log leaves out has been counted.
    case log
  }

  typealias Timeout = (kind: Kind, token: WatchToken)

  private var deadlines = DeadlineHeap()
  /// By their numbers among the deadlines.
  private var timeouts: [Timeout] = []
  private var free: [Int] = []
  /// The earliest deadline, kept because every loop iteration reads it and few change it.
  private(set) var nextDue: Instant?

  mutating func insert(_ kind: Kind, _ token: WatchToken, due: Instant) {
    let item = free.popLast() ?? timeouts.count
    if item == timeouts.count { timeouts.append((kind, token)) } else { timeouts[item] = (kind, token) }
    deadlines.insert(item, due: due)
    nextDue = deadlines.first?.due
  }

  /// Takes out the earliest timeout, if it is due.
  mutating func popDue(at now: Instant) -> Timeout? {
    guard let first = deadlines.first, first.due <= now else { return nil }
    let timeout = timeouts[first.item]
    removeFirst(first.item)
    return timeout
  }

  /// Takes out the earliest timeouts as long as they are settled, so that nothing wakes up for them.
  mutating func drop(while isSettled: (Timeout) -> Bool) {
    while let first = deadlines.first, isSettled(timeouts[first.item]) { removeFirst(first.item) }
  }

  private mutating func removeFirst(_ item: Int) {
    deadlines.remove(item)
    free.append(item)
    nextDue = deadlines.first?.due
    // The memory of a burst is given back.
    if nextDue == nil, timeouts.count > 64 { self = Timeouts() }
  }
}

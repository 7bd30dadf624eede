// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// All deadlines of the server, earliest first, whatever the order of insertion.
///
/// A timeout that is no longer needed stays until it is due, or until it is the first and `drop` removes it. So the
/// code that handles a due timeout checks whether there is still something to do.
nonisolated struct Timeouts {
  enum Kind: CaseIterable {
    /// A connection must have said hello.
    case hello
    /// A frame that began must be complete.
    case frame
    /// An observer must have caught up.
    case pace
    /// A connection must have read why it is closed.
    case close
    /// Try again to send to a stalled observer.
    case retry
    /// See whether a delegate has read its questions.
    case unread
    /// A detached session must have been resumed.
    case detached
    /// Try again to accept connections: there may be descriptors by now.
    case accept
    /// Report how many lines the log omitted.
    case log
    /// Look whether the clients of ended connections have received the files that were sent to them.
    case files
  }

  typealias Timeout = (kind: Kind, token: WatchToken)

  private var deadlines = Deadlines<Timeout>()
  /// The earliest deadline, cached because every loop iteration reads it and few change it.
  private(set) var nextDue: Instant?

  mutating func insert(_ kind: Kind, _ token: WatchToken, due: Instant) {
    _ = deadlines.insert((kind, token), due: due)
    nextDue = deadlines.nextDue
  }

  /// Removes and returns the earliest timeout, if it is due.
  mutating func popDue(at now: Instant) -> Timeout? {
    guard let nextDue, nextDue <= now, let first = deadlines.first else { return nil }
    remove(first.handle)
    return first.item
  }

  /// Removes the earliest timeouts while they are settled, so that nothing wakes up for them.
  mutating func drop(while isSettled: (Timeout) -> Bool) {
    while let first = deadlines.first, isSettled(first.item) { remove(first.handle) }
  }

  private mutating func remove(_ handle: Deadlines<Timeout>.Handle) {
    deadlines.remove(handle)
    nextDue = deadlines.nextDue
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// All timeouts of the server, earliest first.
///
/// An obsolete timeout stays until it is due, or until `drop` finds it at the front. The code that handles a
/// due timeout must therefore check that the timeout is still valid.
nonisolated struct Timeouts {
  enum Kind: CaseIterable {
    case hello
    case frame
    case pace
    case close
    case retry
    /// Checks whether a delegate's client has read its questions.
    case unread
    case detached
    case accept
    case log
    /// Checks whether the clients of ended connections have received their files.
    case files
  }

  typealias Timeout = (kind: Kind, token: WatchToken)

  private var deadlines = Deadlines<Timeout>()
  /// Cached, because every loop iteration reads it, and few iterations change it.
  private(set) var nextDue: Instant?

  mutating func insert(_ kind: Kind, _ token: WatchToken, due: Instant) {
    _ = deadlines.insert((kind, token), due: due)
    nextDue = deadlines.nextDue
  }

  mutating func popDue(at now: Instant) -> Timeout? {
    guard let nextDue, nextDue <= now, let first = deadlines.first else { return nil }
    remove(first.handle)
    return first.item
  }

  /// Removes obsolete timeouts from the front, because they must not wake the bus.
  mutating func drop(while isObsolete: (Timeout) -> Bool) {
    while let first = deadlines.first, isObsolete(first.item) { remove(first.handle) }
  }

  private mutating func remove(_ handle: Deadlines<Timeout>.Handle) {
    deadlines.remove(handle)
    nextDue = deadlines.nextDue
  }
}

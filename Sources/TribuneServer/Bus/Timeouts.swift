// SPDX-License-Identifier: Apache-2.0

import TribuneCore

/// Everything that the server waits for at most so long, each kind in a queue of its own.
///
/// Every pass asks for the earliest moment of all, and hardly any changes it: so it is kept.
nonisolated struct Timeouts {
  enum Kind: Int, CaseIterable {
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
    /// The same of one that is lossy, and looked at less often.
    case passLossy
    /// A connection that has to connect again has done so.
    case orphan
    /// There may be descriptors again for those who want to connect.
    case accept
    /// What the log leaves out has been counted.
    case log
  }

  private var queues = Kind.allCases.map { _ in TimeoutQueue<WatchToken>() }
  /// The earliest moment at which something is to be looked at.
  private(set) var nextDue: Instant?

  mutating func append(_ kind: Kind, _ token: WatchToken, due: Instant) {
    queues[kind.rawValue].append(token, due: due)
    nextDue = nextDue.map { min($0, due) } ?? due
  }

  /// Who is to be looked at next, of those whose time has come.
  mutating func popDue(_ kind: Kind, at now: Instant) -> WatchToken? {
    guard let token = queues[kind.rawValue].popDue(at: now) else { return nil }
    updateNextDue()
    return token
  }

  /// Looks no more at the first of those who need not be, until one is found that does.
  mutating func drop(_ kind: Kind, while isSettled: (WatchToken) -> Bool) {
    queues[kind.rawValue].drop(while: isSettled)
    updateNextDue()
  }

  private mutating func updateNextDue() {
    nextDue = nil
    for queue in queues {
      guard let due = queue.nextDue else { continue }
      nextDue = nextDue.map { min($0, due) } ?? due
    }
  }
}

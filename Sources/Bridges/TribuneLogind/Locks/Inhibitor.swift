// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A lock in logind's list.
nonisolated package struct Inhibitor: Hashable, Sendable {
  /// Kinds of actions, such as `shutdown:sleep`.
  package var what: String
  package var who: String
  package var why: String
  /// One of `block`, `block-weak` and `delay`.
  package var mode: String
  package var uid: UInt32
  package var pid: UInt32

  /// The reason of the hold that mirrors this lock; never empty.
  package var reason: String { why.isBlank ? "it gives no reason" : why }

  package init(what: String, who: String, why: String, mode: String, uid: UInt32, pid: UInt32) {
    (self.what, self.who, self.why, self.mode, self.uid, self.pid) = (what, who, why, mode, uid, pid)
  }

  package var isBlocking: Bool { mode == "block" || mode == "block-weak" }

  package var questions: [HostQuestion] {
    guard isBlocking else { return [] }
    let locks = what.split(separator: ":").compactMap { HostQuestion.Lock(rawValue: String($0)) }
    return HostQuestion.allCases.filter { locks.contains($0.lock) }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

/// The account of one user.
package final class UserAccount {
  struct Charges {
    /// Connections that have said hello.
    var connectionCount = 0
    /// Bytes of its clients' registrations.
    var registeredByteCount = 0
    /// Bytes of queries and awaited posts under way: their participants, and the userInfo that is kept.
    var underWayByteCount = 0
    /// Bytes of the answers to queries and awaited posts under way.
    var answerByteCount = 0
    /// Queries that keep their userInfo. The userInfo of the first is not charged.
    var keepingCount = 0
    /// Bytes of retained notifications, and of posts that will replace them.
    var retainedByteCount = 0

    /// Bytes of the user's own requests. Answers from others do not use up this part.
    var ownByteCount: Int { registeredByteCount + underWayByteCount }
    /// Bytes that end with the user's connections.
    var byteCount: Int { ownByteCount + answerByteCount }
  }

  /// A cell, because every query changes the charges.
  private let cell = Cell(Charges())
  package let descriptors: UserDescriptors

  init(uid: UInt32) { descriptors = UserDescriptors(uid: uid) }

  package var uid: UInt32 { descriptors.uid }

  var charges: Charges {
    @inline(__always) _read { yield cell.value }
    @inline(__always) _modify { yield &cell.value }
  }

  var isEmpty: Bool { charges.connectionCount == 0 && charges.retainedByteCount == 0 && descriptors.isEmpty }
}

/// The descriptors that a user has passed. Any thread may count them.
package final class UserDescriptors: Sendable {
  package let uid: UInt32
  /// Files that a receiver still needs.
  package let inFlight = SharedCount()
  /// Descriptors that are not closed yet, and those of them that a thread is closing.
  package let unclosed = SharedCount()
  package let closing = SharedCount()

  init(uid: UInt32) { self.uid = uid }

  fileprivate var isEmpty: Bool { inFlight.current == 0 && unclosed.current == 0 }
}

/// A number that any thread may read and change.
package final class SharedCount: Sendable {
  private let value = Atomic(0)

  package init() {}

  package var current: Int { value.load(ordering: .relaxed) }

  package func change(by difference: Int) { value.add(difference, ordering: .relaxed) }
}

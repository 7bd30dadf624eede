// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TribuneWire

/// The account of one user.
package final class UserAccount {
  struct Charges {
    var uses = Amounts()
    /// What the user's detached connections have. Their clients may come back, and register the same again.
    var detached = Amounts()
    /// Connections that are charged although they have ended: their sockets were not closed yet.
    var closingCount = 0
    /// Connections that have said hello.
    var connectionCount = 0
    /// Bytes of the answers to queries and awaited posts under way, which are charged as bytes of the log.
    var answerByteCount = 0
    /// Bytes of userInfo that a query keeps, and that do not count in the share.
    var exemptByteCount = 0
    /// Connections that are suspended.
    var suspendedCount = 0
    /// Queries that keep their userInfo.
    var keepingCount = 0
  }

  /// A cell, because every query changes the charges.
  private let cell = Cell(Charges())
  package let descriptors: UserDescriptors
  /// As how many users this one counts.
  package internal(set) var weight: Int
  /// Whether the last sixteenth of each resource is for this user too.
  package let isPrivileged: Bool

  init(uid: UInt32, weight: Int = 1, isPrivileged: Bool = false) {
    descriptors = UserDescriptors(uid: uid)
    self.weight = weight
    self.isPrivileged = isPrivileged
  }

  package var uid: UInt32 { descriptors.uid }

  var charges: Charges {
    @inline(__always) _read { yield cell.value }
    @inline(__always) _modify { yield &cell.value }
  }

  /// How much of a resource the user has. A function, because another module would allocate for reading `uses`.
  package func use(of resource: SharedResource) -> Int { cell.value.uses[resource] }

  /// How much of each resource the user has.
  var uses: Amounts {
    @inline(__always) _read { yield cell.value.uses }
    @inline(__always) _modify { yield &cell.value.uses }
  }

  /// Unread bytes above which notifications for the user's connections are dropped next. More than the share if those
  /// bytes cannot be dropped.
  package var relievedAbove = 0

  package let pauses = Cell(PauseBudget())

  /// The iteration of the event loop in which frames of the user were handled last, and the time that they took in it.
  package let iterationTime = Cell((number: UInt64(0), nanoseconds: UInt64(0)))

  /// The last iteration in which one was handled although its time was over, and the first that may be the next.
  package let lateTurn = Cell((last: UInt64(0), next: UInt64(0)))

  /// What was logged of the user's frames since a compaction of the log ended, and the number of that one.
  package let logged = Cell((compaction: UInt64(0), byteCount: 0))
  /// Whether the user's frames wait for the next compaction to end.
  package let waitsForCompaction = Cell(false)

  var isEmpty: Bool { charges.connectionCount == 0 && uses.isZero && descriptors.isEmpty }
}

/// How long a user's observers may make other users' posters wait: a tenth of the time, or a second at once.
package struct PauseBudget {
  private static let most: Int64 = 1_000_000_000
  /// Nanoseconds. Negative after a longer pause.
  private var left = most
  private var known: Instant?

  /// Whether a poster may be made to wait now.
  package mutating func hasTime(at now: Instant) -> Bool {
    if let known { left = min(Self.most, left + Int64(clamping: now.nanoseconds(since: known) / 10)) }
    known = now
    return left > 0
  }

  package mutating func take(nanoseconds: UInt64) { left -= Int64(clamping: nanoseconds) }
}

/// The descriptors that a user has passed. Any thread may count them.
package final class UserDescriptors: Sendable {
  package let uid: UInt32
  /// Descriptors that wait for the rest of their frames, and files that a receiver still needs.
  package let held = SharedCount()
  /// Descriptors that are not closed yet, and those of them that a thread is closing.
  package let unclosed = SharedCount()
  package let closing = SharedCount()
  /// Those of them that are connections, which are charged until they are closed.
  package let unclosedConnections = SharedCount()

  init(uid: UInt32) { self.uid = uid }

  fileprivate var isEmpty: Bool { held.current == 0 && unclosed.current == 0 }
}

/// A number that any thread may read and change.
package final class SharedCount: Sendable {
  private let value = Atomic(0)

  package init() {}

  package var current: Int { value.load(ordering: .relaxed) }

  package func change(by difference: Int) { value.add(difference, ordering: .relaxed) }
}

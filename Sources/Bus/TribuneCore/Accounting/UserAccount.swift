// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneWire

package final class UserAccount {
  struct Charges {
    var uses = Amounts()
    /// The part of `uses` for detached connections, whose clients can still return and register again.
    var detached = Amounts()
    var closingCount = 0
    var connectionCount = 0
    /// The bytes charged for answers. `uses[.log]` includes them.
    var answerByteCount = 0
    var exemptByteCount = 0
    var suspendedCount = 0
    var keepingCount = 0
  }

  /// Every query changes the charges. A cell saves the run-time check for exclusive access at each change.
  private let cell = Cell(Charges())
  package let descriptors: UserDescriptors
  package internal(set) var weight: Int
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

  /// This is a function, because a read of the property `uses` from another module would allocate memory.
  package func use(of resource: SharedResource) -> Int { cell.value.uses[resource] }

  var uses: Amounts {
    @inline(__always) _read { yield cell.value.uses }
    @inline(__always) _modify { yield &cell.value.uses }
  }

  package var isEmpty: Bool { charges.connectionCount == 0 && uses.isZero && descriptors.isEmpty }
}

/// Counts of a user's descriptors. Any thread is allowed to change these counts.
package final class UserDescriptors: Sendable {
  package let uid: UInt32
  /// The descriptors that count for `SharedResource.descriptors`.
  package let held = SharedCount()
  /// The descriptors that threads have yet to close, including `closing`.
  package let unclosed = SharedCount()
  /// The descriptors for which a thread is in a call of close(2).
  package let closing = SharedCount()
  /// Open sockets of ended connections. Each stays charged as a connection until the socket is closed.
  package let unclosedConnections = SharedCount()

  init(uid: UInt32) { self.uid = uid }

  fileprivate var isEmpty: Bool { held.current == 0 && unclosed.current == 0 }
}

package final class SharedCount: Sendable {
  private let value = Atomic(0)

  package init() {}

  package var current: Int { value.load(ordering: .relaxed) }

  package func change(by difference: Int) { value.add(difference, ordering: .relaxed) }
}

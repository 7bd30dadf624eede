// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TribuneSystem
import TribuneWire

/// A standing veto.
///
/// The hold lasts until ``release()``, until it expires (``expiresIn``), or until the connection ends. The hold
/// lasts even if the program does not keep this object.
///
/// After an interruption, the library takes the hold again. If the bus kept its state over a restart, the
/// hold was in force all the time. If the bus lost its state, the hold is not in force until the library has
/// taken it again, up to 1 s after the bus's start. To veto even in this time, require a delegate in the
/// bus's configuration (`RequireDelegate=`).
public final class Hold: Sendable {
  /// The hold's id in verdicts and lists. It changes after an interruption. The bus never uses an id again,
  /// not even for a delegate.
  public var id: UInt64 { term.id.load(ordering: .relaxed) }
  private let serial: UInt64
  private let term: HoldTerm
  private let connection: Connection

  init(serial: UInt64, term: HoldTerm, connection: Connection) {
    self.serial = serial
    self.term = term
    self.connection = connection
  }

  /// The time until the hold expires; nil if it does not expire.
  public var expiresIn: Duration? { term.expiresIn }

  /// True if the bus ends the hold earlier than the program asked (`HoldMaxSec=`, or `max=` in the policy).
  public var isShortened: Bool { term.isShortened }

  /// The number of actions under way, such as guarded commands, that began before this hold, and that this
  /// hold would have vetoed.
  public var late: Int { term.late.load(ordering: .relaxed) }

  /// Waits until all actions that ``late`` counts have ended. Returns at once if ``late`` is 0.
  ///
  /// If the bus loses its state in a restart, the new bus learns of an action only when the action's owner
  /// has reconnected. Until then, ``late`` does not count this action.
  ///
  /// - Returns: false if the hold ended before the actions, or if the task was cancelled.
  public func settled() async -> Bool { await term.settled() }

  /// Ends the hold. Has no effect if the hold has already ended.
  ///
  /// Cancelling the task does not stop the call.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost`` if the connection, and with it the hold, has ended.
  public func release() async throws(TribuneError) { try await connection.link.takeBack(serial) }

  /// Changes the reason that verdicts and lists show, for example to *backup at 40 %*.
  ///
  /// The hold keeps the new reason after an interruption. The bus announces the change as
  /// `tribune.hold.didChange`. The change does not wake clients that wait for the end of the hold.
  ///
  /// - Parameter why: the new reason, truncated at 4,096 bytes.
  /// - Throws: `refused` when the reason is blank; `notFound` when the hold has ended; `limitExceeded`;
  ///   `connectionLost` and `cancelled`, after which the hold has either the old or the new reason.
  public func update(why: String) async throws(TribuneError) {
    guard !why.isBlank else { throw TribuneError(.refused, "a hold needs a reason") }
    let why = why.reasonBytes
    try await connection.link.request(
      Amend(target: serial), .init(payload: why), as: .amendment(of: serial, why: why))
  }

  /// Duplicates the connection's socket, for a child process.
  ///
  /// While the child has the duplicate, the hold stands, even if this process is killed. If the child sends
  /// anything over the duplicate, the bus ends the connection.
  ///
  /// - Returns: nil unless the hold was taken with `isLast`, over the socket that the connection still uses.
  package func duplicateSocket() throws(Errno) -> FileDescriptor? {
    try connection.link.duplicateSocket(lastOf: term.lastEpoch)
  }

  /// Waits for the end of the hold. Returns true if the hold expired; false if it was released, if the
  /// connection ended, or if the task was cancelled.
  public func expired() async -> Bool { await term.expired() }
}

public struct HoldInfo: Hashable, Sendable {
  /// The hold's id, which the bus never uses again.
  public var id: UInt64
  /// The id of the connection that took the hold, such as `:7`.
  public var connection: String
  /// The holder's claimed name; may be empty.
  public var label: String
  /// See ``Asker/pid``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  public var pattern: String
  /// The object of the vetoed queries; empty for any object. The hold also vetoes queries without an object.
  public var object: String
  public var why: String
  /// The time since the hold was taken.
  public var age: Duration
  /// The time until the hold expires; nil if it does not expire.
  public var expiresIn: Duration?
}

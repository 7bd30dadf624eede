// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TribuneSystem
import TribuneWire

/// A standing veto.
///
/// It lasts until ``release()``, until it expires, or until the connection ends, even if this object is not kept.
///
/// After an interruption, the library takes the hold again. A bus that was restarted with its state keeps it until
/// then. On a bus that was restarted without its state, the hold is not in force until this process has taken it again,
/// usually some milliseconds after the bus's start. If the veto must be certain even then, require a delegate in the
/// bus's configuration (`RequireDelegate=`).
public final class Hold: Sendable {
  /// In verdicts and `holds`; never used again, and never a delegate's. It changes after an interruption.
  public var id: UInt64 { term.id.load(ordering: .relaxed) }
  private let serial: UInt64
  private let term: HoldTerm
  private let connection: Connection

  init(serial: UInt64, term: HoldTerm, connection: Connection) {
    self.serial = serial
    self.term = term
    self.connection = connection
  }

  /// The number of actions under way, such as guarded commands, that it could have vetoed, and that had begun before.
  public var late: Int { term.late.load(ordering: .relaxed) }

  /// Returns when the actions have ended that the hold was too late for: at once if there was none.
  ///
  /// A bus that was restarted without its state knows an action when its owner has reconnected, up to 5 s later.
  ///
  /// - Returns: false if the hold has ended before, or the task was cancelled.
  public func settled() async -> Bool { await term.settled() }

  /// Ends the hold. Has no effect if it has ended or expired.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, which also ends the hold. Cancelling the task does not stop it.
  public func release() async throws(TribuneError) { try await connection.link.takeBack(serial) }

  /// Changes the reason in verdicts and lists, such as *backup at 40 %*, even over an interruption. Observers of
  /// `tribune.hold.didChange` learn of it; clients that wait for the end of the hold do not wake.
  ///
  /// - Parameter why: truncated at 4,096 bytes.
  /// - Throws: `refused` when the reason is empty; `notFound` when the hold has ended; `limitExceeded`;
  ///   `connectionLost` and `cancelled`, after which the bus may have either reason.
  public func update(why: String) async throws(TribuneError) {
    guard !why.isBlank else { throw TribuneError(.refused, "a hold needs a reason") }
    let why = why.reasonBytes
    _ = try await connection.link.request(Amend(target: serial), .init(payload: why)) { reply, _ in
      .amendment(reply, of: serial, why: why)
    }
  }

  /// A duplicate of the connection's socket, for a child process. While the child has it, the hold stands, even if this
  /// process is killed. If the child sends anything over it, the bus ends the connection.
  ///
  /// - Returns: nil if the hold was not the connection's last frame, or was taken again over another connection.
  package func duplicateSocket() throws(Errno) -> FileDescriptor? {
    try connection.link.duplicateSocket(lastOf: term.lastEpoch)
  }

  /// Returns when the hold has ended: true if it expired; false if it was released, if the connection ended, or if
  /// the task was cancelled.
  public func expired() async -> Bool { await term.expired() }
}

public struct HoldInfo: Hashable, Sendable {
  /// Never used again.
  public var id: UInt64
  /// `:N`.
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
  /// Empty for any.
  public var object: String
  /// The reason.
  public var why: String
  /// Since it was taken.
  public var age: Duration
  /// Nil if it does not expire.
  public var expiresIn: Duration?
}

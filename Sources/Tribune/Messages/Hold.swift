// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A standing veto.
///
/// It lasts until ``release()``, until it expires, or until the connection ends, whichever is first, whether
/// or not this object is kept.
///
/// When the connection was interrupted, the hold is taken again. A bus that was restarted with what it knew has kept
/// it until then. One that came back with nothing has not: from its start until this process has reached it and taken
/// the hold again, some milliseconds as a rule, it vetoes nothing. What has to be certain over that too is a
/// delegate that the bus's configuration requires (`RequireDelegate=`): its absence is a veto.
public final class Hold: Sendable {
  /// The hold's id, as verdicts and `holds` name it; never used again, and never a delegate's. It changes when the hold
  /// has been taken again because the connection was interrupted.
  public var id: UInt64 { term.id.load(ordering: .relaxed) }
  let serial: UInt64
  let term: HoldTerm
  let connection: Connection

  init(serial: UInt64, term: HoldTerm, connection: Connection) {
    self.serial = serial
    self.term = term
    self.connection = connection
  }

  /// Ends it. Releasing twice, or after it has expired, changes nothing.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, by which it has ended, too. Cancelling the task does not
  ///   stop it.
  public func release() async throws(TribuneError) {
    try await connection.link.takeBack(.hold, serial)
  }

  /// Returns when the hold has ended: true when it expired, false when it was released or the connection has
  /// ended, and when the task is cancelled.
  public func expired() async -> Bool { await term.expired() }
}

/// One hold, as the bus sees it.
public struct HoldInfo: Hashable, Sendable {
  /// The hold's id, never used again.
  public var id: UInt64
  /// The connection whose it is, `:N`.
  public var connection: String
  /// The process, as the kernel recorded it when it connected.
  public var pid: Int32
  /// The user that the process ran as when it connected.
  public var uid: UInt32
  /// The process's name (comm), at most 15 bytes; empty when it was gone too soon to tell.
  public var process: String
  /// The systemd unit; empty if none.
  public var unit: String
  /// The names that it vetoes.
  public var pattern: String
  /// The object that it is about; empty for any.
  public var object: String
  /// The reason that verdicts give.
  public var why: String
  /// Since it was taken.
  public var age: Duration
  /// Until it expires; nil if it does not.
  public var expiresIn: Duration?
}

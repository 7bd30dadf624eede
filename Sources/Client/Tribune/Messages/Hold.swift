// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TribuneSystem
import TribuneWire

/// A standing veto.
///
/// It lasts until ``release()``, until it expires, or until the connection ends, whichever comes first, whether or
/// not this object is kept.
///
/// After an interruption, the hold is taken again. A bus that was restarted with its state has kept it until then. A
/// bus that was restarted without state vetoes nothing from its start until this process has connected and taken the
/// hold again, usually some milliseconds later. If the veto must be certain during that time too, have the bus's
/// configuration require a delegate (`RequireDelegate=`): its absence is a veto.
public final class Hold: Sendable {
  /// The hold's id in verdicts and `holds`; never used again, and never a delegate's. It changes when the hold is
  /// taken again after an interruption.
  public var id: UInt64 { term.id.load(ordering: .relaxed) }
  private let serial: UInt64
  private let term: HoldTerm
  private let connection: Connection

  init(serial: UInt64, term: HoldTerm, connection: Connection) {
    self.serial = serial
    self.term = term
    self.connection = connection
  }

  /// Ends the hold. Releasing twice, or after it has expired, changes nothing.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, after which it has ended, too. Cancelling the task does not stop
  ///   it.
  public func release() async throws(TribuneError) { try await connection.link.takeBack(serial) }

  /// Changes the reason in verdicts and lists, such as *backup at 40 %*. Observers of `tribune.hold.didChange` learn of
  /// it; whoever waits for the end of the hold is not woken. The new reason stays over an interruption.
  ///
  /// - Parameter why: truncated at 4,096 bytes.
  /// - Throws: `refused` when the reason is empty; `notFound` when the hold has ended; `limitExceeded`; `connectionLost`
  ///   and `cancelled`, after which the bus may have either reason.
  public func update(why: String) async throws(TribuneError) {
    guard !why.isEmpty else { throw TribuneError(.refused, "a hold needs a reason") }
    let why = why.reasonBytes
    _ = try await connection.link.request(Amend(target: serial), .init(payload: why)) { reply, _ in
      .amendment(reply, of: serial, why: why)
    }
  }

  /// A duplicate of the connection's socket, for a child. As long as the child has it, the connection is open and the
  /// hold stands, also if this process was killed. The child can send nothing over it: the bus would end the connection.
  ///
  /// - Returns: nil if the hold was not the connection's last frame, or was taken again since over another connection,
  ///   which the child must not have.
  /// - Throws: the error of the kernel, if there is no further descriptor.
  package func duplicateSocket() throws(Errno) -> FileDescriptor? {
    try connection.link.duplicateSocket(of: term)
  }

  /// Returns when the hold has ended: true if it expired; false if it was released, if the connection ended, or if
  /// the task was cancelled.
  public func expired() async -> Bool { await term.expired() }
}

/// One hold, as the bus sees it.
public struct HoldInfo: Hashable, Sendable {
  /// The hold's id, never used again.
  public var id: UInt64
  /// The connection that took it, `:N`.
  public var connection: String
  /// Who holds, as the holder says; can be empty.
  public var label: String
  /// The process, as in ``Asker``.
  public var pid: Int32
  public var uid: UInt32
  public var process: String
  public var units: Units
  public var unit: String { units.primary }
  /// The names that it vetoes.
  public var pattern: String
  /// The object that it applies to; empty for any.
  public var object: String
  /// The reason in verdicts.
  public var why: String
  /// The time since it was taken.
  public var age: Duration
  /// The time until it expires; nil if it does not.
  public var expiresIn: Duration?
}

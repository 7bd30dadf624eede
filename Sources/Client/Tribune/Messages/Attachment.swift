// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A delegate's place in a chain.
///
/// It lasts until ``detach()``, until another delegate is set in its place, until the delegate is deallocated, or
/// until the connection ends, whichever comes first, whether or not this object is kept.
///
/// After an interruption, the delegate is attached again, behind those of its order that are attached by then; one that
/// was set joins the chain like the others. Meanwhile, a bus that was restarted with its state counted the delegate as
/// attached, and its questions timed out. On a bus that was restarted without state, the delegate was not attached.
public final class Attachment: Sendable {
  /// The delegate's id in verdicts and `explain`; never used again. It changes when the delegate is attached again
  /// after an interruption.
  public var id: UInt64 { attached.id.load(ordering: .relaxed) }
  private let attached: AttachedDelegate
  private let serial: UInt64
  private let connection: Connection

  init(_ attached: AttachedDelegate, serial: UInt64, connection: Connection) {
    self.attached = attached
    self.serial = serial
    self.connection = connection
  }

  /// Leaves the chain. Unanswered questions are withdrawn, and ``Delegate/concluded(_:)`` is not called any more.
  /// Leaving twice, or after being replaced, changes nothing.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, after which it has left the chain, too. Cancelling the task does
  ///   not stop it.
  public func detach() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

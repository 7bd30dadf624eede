// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A delegate's place in a chain.
///
/// The attachment lasts until ``detach()``, until another delegate replaces this one, until the delegate is
/// deallocated, or until the connection ends. It lasts even if the program does not keep this object.
///
/// After an interruption, the library attaches the delegate again, behind all delegates of the same order. Until then,
/// a bus that was restarted with its state keeps the delegate in the chain, and questions to it time out. A bus that
/// was restarted without its state does not have the delegate. If the delegate was set in place of other delegates, the
/// library does not replace delegates again: those attached meanwhile stay.
public final class Attachment: Sendable {
  /// The delegate's id in verdicts and `explain`. It changes after an interruption. The bus never uses an id again.
  public var id: UInt64 { attached.id.load(ordering: .relaxed) }
  private let attached: AttachedDelegate
  private let serial: UInt64
  private let connection: Connection

  init(_ attached: AttachedDelegate, serial: UInt64, connection: Connection) {
    self.attached = attached
    self.serial = serial
    self.connection = connection
  }

  /// Removes the delegate from the chain. A second call, or a call after a replacement, has no effect.
  ///
  /// The bus withdraws unanswered questions, without ``Delegate/concluded(_:)``. Cancelling the task does not stop the
  /// call.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``: then the attachment has ended, too.
  public func detach() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A delegate's place in a chain.
///
/// The attachment lasts until ``detach()``, until the delegate is replaced or deallocated, or until the
/// connection ends. It lasts even if the program does not keep this object.
///
/// After an interruption, the library attaches the delegate again, behind all delegates of the same order.
/// The library then replaces no other delegates, even if the program used `set`. If the bus kept its state
/// over a restart, the delegate stays in the chain during the interruption, but questions to the delegate
/// time out. If the bus lost its state, the delegate is missing until the library has attached it again.
public final class Attachment: Sendable {
  /// The delegate's id in verdicts and lists. An interruption changes the id.
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
  /// The bus withdraws unanswered questions. The library does not call ``Delegate/concluded(_:)`` for them.
  /// Cancelling the task does not stop the call.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost`` if the connection, and with it the attachment, has ended.
  public func detach() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A delegate's place in a chain.
///
/// It lasts until ``detach()``, until another delegate is set in its place, until the delegate is deallocated, or
/// until the connection ends, even if this object is not kept.
///
/// After an interruption, the library attaches the delegate again, behind the delegates that have the same order and
/// are attached by then, even if it was attached by `set`. Until then, a bus that was restarted with its state counts
/// the delegate as attached, and questions to it time out; on a bus that was restarted without its state, the delegate
/// is not attached.
public final class Attachment: Sendable {
  /// In verdicts and `explain`; never used again. It changes after an interruption.
  public var id: UInt64 { attached.id.load(ordering: .relaxed) }
  private let attached: AttachedDelegate
  private let serial: UInt64
  private let connection: Connection

  init(_ attached: AttachedDelegate, serial: UInt64, connection: Connection) {
    self.attached = attached
    self.serial = serial
    self.connection = connection
  }

  /// Leaves the chain. Unanswered questions are withdrawn, without ``Delegate/concluded(_:)``. Leaving twice, or after
  /// a replacement, has no effect.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, which also ends the attachment. Cancelling the task does not
  ///   stop it.
  public func detach() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

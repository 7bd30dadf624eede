// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A delegate's place in a chain.
///
/// It lasts until ``detach()``, until another delegate is set in its place, until the delegate is gone, or
/// until the connection ends, whichever is first, whether or not this object is kept.
///
/// When the connection was interrupted, the delegate is attached again, behind those of its order that are there by
/// then; one that was set joins the chain like the others. A bus that was restarted with what it knew has still
/// counted it as attached until then: what it was asked meanwhile ran into its timeout. For one that came back with
/// nothing it was not there.
public final class Attachment: Sendable {
  /// The delegate's id, as verdicts and `explain` name it; never used again. It changes when the delegate has been
  /// attached again because the connection was interrupted.
  public var id: UInt64 { attached.id.load(ordering: .relaxed) }
  let attached: AttachedDelegate
  let serial: UInt64
  let connection: Connection

  init(_ attached: AttachedDelegate, serial: UInt64, connection: Connection) {
    self.attached = attached
    self.serial = serial
    self.connection = connection
  }

  /// Leaves the chain. Questions that are not answered yet are withdrawn, and ``Delegate/concluded(_:)`` is
  /// not called for those that are; leaving twice, or after having been replaced, changes nothing.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, by which it has left the chain, too. Cancelling the task does not
  ///   stop it.
  public func detach() async throws(TribuneError) {
    try await connection.link.takeBack(.attachment, serial)
  }
}

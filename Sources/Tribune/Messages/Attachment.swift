// SPDX-License-Identifier: Apache-2.0

/// A delegate's place in a chain.
///
/// It lasts until ``detach()``, until another delegate is set in its place, until the delegate is gone, or
/// until the connection ends, whichever is first, whether or not this object is kept.
public final class Attachment: Sendable {
  /// The delegate's id, as verdicts and `explain` name it; never used again.
  public let id: UInt64
  let serial: UInt64
  let connection: Connection

  init(id: UInt64, serial: UInt64, connection: Connection) {
    self.id = id
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

// SPDX-License-Identifier: Apache-2.0

/// Who posts: sent to a connection that wants to know, before the first notification of that poster.
///
/// The receiver remembers one poster for each slot, and forgets it when the slot gets another one. So neither side
/// needs more memory than there are connections at a time, however many come and go.
package struct PosterFacts: FrameFields {
  package static let kind = FrameKind.poster

  /// The slot that all posters share that have gone.
  package static let departedSlot: UInt32 = 0

  package var connection: ConnectionID
  package var slot: UInt32
  /// A pid of 0 is unknown, and so is `PeerIdentity.unknownUser`.
  package var peer: PeerIdentity

  package init(connection: ConnectionID, slot: UInt32, peer: PeerIdentity) {
    (self.connection, self.slot, self.peer) = (connection, slot, peer)
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    connection = ConnectionID(rawValue: try reader.integer())
    slot = try reader.integer()
    peer = try PeerIdentity(from: &reader)
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.append(slot)
    peer.append(to: buffer)
  }
}

extension PeerIdentity {
  /// In place of a user that is not known: the id that no user has.
  package static let unknownUser = UInt32.max

  /// A process of which only the user is known, or not even that.
  package static func gone(of user: UInt32 = unknownUser) -> PeerIdentity {
    PeerIdentity(pid: 0, uid: user, gid: unknownUser, process: "", units: PeerUnits())
  }
}

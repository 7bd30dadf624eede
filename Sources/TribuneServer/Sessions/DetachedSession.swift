// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// A session whose daemon died, and whose client has not come back yet. It has no socket.
///
/// Its registrations last for some seconds. Until its client has registered again on a new connection and sends
/// `succeed` there, the bus counts the notifications that the session misses.
final class DetachedSession {
  let id: ConnectionID
  let slot: ConnectionSlot
  let peer: PeerIdentity
  let connected: Instant
  let postedCount: UInt64
  let lostCount: UInt64
  var positions: LogPositions
  /// As in `Output`.
  var queuedCount: UInt32 = 0
  var bufferedBefore: UInt32 = 0
  var flags: SessionFlags = .detached

  init(_ id: ConnectionID, _ found: FoundConnection) {
    self.id = id
    slot = ConnectionSlot(index: found.facts.slot)
    peer = found.facts.peer
    connected = found.facts.connected
    postedCount = found.facts.postedCount
    lostCount = found.facts.lostCount
    positions = found.positions
  }

  var token: WatchToken { .connection(id, at: slot) }
}

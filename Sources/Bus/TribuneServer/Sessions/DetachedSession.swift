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
  private var traffic: TrafficCounts
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
    traffic = found.facts.traffic
    positions = found.positions
  }

  /// What the client has sent and received until now.
  func countedTraffic() -> TrafficCounts {
    traffic.noteDelivered(upTo: queuedCount)
    return traffic
  }

  var token: WatchToken { .connection(id, at: slot) }
}

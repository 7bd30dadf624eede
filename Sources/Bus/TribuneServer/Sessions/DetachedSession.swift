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
  private var traffic = TrafficCounts()
  /// As in `Session`.
  let inherited: TrafficCounts
  /// As in `Session`.
  let predecessors: [ConnectionID]
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
    inherited = TrafficCounts(delivered: UInt64(found.queuedCount), lost: UInt64(found.lostCount))
    predecessors = found.predecessors
    positions = found.positions
  }

  /// What the client has missed of this daemon.
  func countedTraffic() -> TrafficCounts {
    traffic.noteDelivered(upTo: queuedCount &- UInt32(truncatingIfNeeded: inherited.delivered))
    return traffic
  }

  var token: WatchToken { .connection(id, at: slot) }
}

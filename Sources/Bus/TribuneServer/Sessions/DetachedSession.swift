// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneWire

/// A session without a socket: an earlier daemon died, and the client has not reconnected yet.
///
/// The bus keeps the client's registrations for some seconds. Until the client sends `succeed` on a new
/// connection, the bus counts the notifications that the client misses.
final class DetachedSession {
  let id: ConnectionID
  let slot: ConnectionSlot
  let peer: PeerIdentity
  let connected: Instant
  private var traffic = TrafficCounts()
  let inherited: TrafficCounts
  let predecessors: [ConnectionID]
  var positions: LogPositions
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

  func countedTraffic() -> TrafficCounts {
    traffic.countDelivered(upTo: queuedCount &- UInt32(truncatingIfNeeded: inherited.delivered))
    return traffic
  }

  var token: WatchToken { .connection(id, at: slot) }
}

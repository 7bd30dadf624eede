// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What a connection, or all of a user's connections in a unit, sent and received.
nonisolated struct TrafficCounts: Counts, Equatable {
  var posted: UInt64 = 0
  /// The bytes of these notifications, as frames.
  var postedBytes: UInt64 = 0
  /// Notifications that were queued for it.
  var delivered: UInt64 = 0
  var lost: UInt64 = 0
  var asked: UInt64 = 0
  /// Frames that the policy refused.
  var denied: UInt64 = 0
  /// Frames that were refused for another reason.
  var refused: UInt64 = 0

  var activity: UInt64 { posted &+ delivered &+ asked &+ denied &+ refused }

  mutating func add(_ other: TrafficCounts) {
    posted &+= other.posted
    postedBytes &+= other.postedBytes
    delivered &+= other.delivered
    lost &+= other.lost
    asked &+= other.asked
    denied &+= other.denied
    refused &+= other.refused
  }

  /// Takes over what a counter of 32 bits, which starts with the connection, has counted since the last call. It must not
  /// count more than 2³² in between.
  mutating func noteDelivered(upTo count: UInt32) {
    delivered &+= UInt64(count &- UInt32(truncatingIfNeeded: delivered))
  }
}

/// Whose traffic is counted together.
nonisolated struct TrafficKey: Hashable {
  let uid: UInt32
  let unit: String

  init(_ peer: PeerIdentity) { (uid, unit) = (peer.uid, peer.units.primary) }

  init(_ entry: UserEntry) { (uid, unit) = (entry.uid, entry.unit) }
}

/// The traffic of users and their units, as a list: of the connections that have gone, and of those that a `Listing` has
/// looked at.
nonisolated struct UserTraffic {
  private var all: [TrafficKey: (traffic: TrafficCounts, connections: UInt32)] = [:]

  mutating func add(_ traffic: TrafficCounts, of peer: PeerIdentity) {
    let key = TrafficKey(peer)
    all[key, default: (TrafficCounts(), 0)].traffic.add(traffic)
    all[key, default: (TrafficCounts(), 0)].connections += 1
  }

  /// The entries of users that the list may have, the busiest first, and all others together.
  func entries(with gone: Busiest<TrafficKey, TrafficCounts>, visible: VisibleUsers) -> [UserEntry] {
    var all = all
    let (busiest, others) = gone.all
    for (key, traffic) in busiest where visible.contains(key.uid) {
      all[key, default: (TrafficCounts(), 0)].traffic.add(traffic)
    }
    let sorted = all.sorted { $0.value.traffic.activity > $1.value.traffic.activity }
    var rest = (traffic: others, connections: UInt32(0))
    for (_, value) in sorted.dropFirst(Busiest<TrafficKey, TrafficCounts>.countMax) {
      rest.traffic.add(value.traffic)
      rest.connections += value.connections
    }
    var entries = sorted.prefix(Busiest<TrafficKey, TrafficCounts>.countMax).map { key, value in
      UserEntry(uid: key.uid, unit: key.unit, connections: value.connections, value.traffic)
    }
    if case .all = visible, rest.traffic.activity > 0 || rest.connections > 0 {
      entries.append(UserEntry(uid: .max, unit: "", connections: rest.connections, rest.traffic))
    }
    return entries
  }
}

nonisolated extension UserEntry {
  fileprivate init(uid: UInt32, unit: String, connections: UInt32, _ traffic: TrafficCounts) {
    self.init(
      uid: uid, unit: unit, connections: connections, posted: traffic.posted,
      postedBytes: traffic.postedBytes, delivered: traffic.delivered, lost: traffic.lost,
      asked: traffic.asked, denied: traffic.denied, refused: traffic.refused)
  }

  var traffic: TrafficCounts {
    TrafficCounts(
      posted: posted, postedBytes: postedBytes, delivered: delivered, lost: lost, asked: asked,
      denied: denied, refused: refused)
  }
}

/// The traffic of connections that have gone, in the log.
nonisolated extension Busiest<TrafficKey, TrafficCounts> {
  func append(to buffer: ByteBuffer, lengthMax: Int) {
    let (busiest, others) = all
    let end = buffer.count + lengthMax
    for (key, traffic) in busiest where buffer.count < end {
      buffer.appendRecord { UserEntry(uid: key.uid, unit: key.unit, connections: 0, traffic).append(to: $0) }
    }
    buffer.appendRecord { UserEntry(uid: .max, unit: "", connections: 0, others).append(to: $0) }
  }

  /// Reads all that is left.
  mutating func restore(from reader: inout FieldReader) throws(WireError) {
    while !reader.isAtEnd {
      var record = try reader.record()
      let entry = try UserEntry(from: &record)
      if entry.uid == .max {
        setOthers(entry.traffic)
      } else {
        tally(of: TrafficKey(entry)).counts = entry.traffic
      }
    }
  }
}

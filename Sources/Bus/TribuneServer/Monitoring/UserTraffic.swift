// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// The user and unit whose traffic is counted together.
nonisolated struct TrafficKey: Hashable {
  let uid: UInt32
  let unit: String

  init(_ peer: PeerIdentity) { (uid, unit) = (peer.uid, peer.units.primary) }
}

/// The traffic of users and units, for a list. Sums up departed connections, and the connections that the
/// list has visited so far.
nonisolated struct UserTraffic {
  private var all: [TrafficKey: (traffic: TrafficCounts, connections: UInt32)] = [:]
  private var rest = (traffic: TrafficCounts(), connections: UInt32(0))
  private let visible: VisibleUsers

  init(with gone: Busiest<TrafficKey, TrafficCounts>, visible: VisibleUsers) {
    self.visible = visible
    let (busiest, others) = gone.all
    for (key, traffic) in busiest where visible.contains(key.uid) { all[key] = (traffic, 0) }
    rest.traffic = others
  }

  mutating func add(_ traffic: TrafficCounts, of peer: PeerIdentity) {
    let key = TrafficKey(peer)
    var (sum, connections) = all[key] ?? (TrafficCounts(), 0)
    sum.add(traffic)
    connections += 1
    all[key] = (sum, connections)
  }

  /// The busiest users and units, the busiest first. If all users are visible, the last entry is the sum of
  /// the other users and units.
  var entries: [UserEntry] {
    let countMax = Busiest<TrafficKey, TrafficCounts>.countMax
    let ranked = all.map { $0 }.inShares { ($0.key.uid, $0.value.traffic.activity) }
    var rest = rest
    for (_, value) in ranked.dropFirst(countMax) {
      rest.traffic.add(value.traffic)
      rest.connections += value.connections
    }
    let busiest = ranked.prefix(countMax).sorted { $0.value.traffic.activity > $1.value.traffic.activity }
    var entries = busiest.map { key, value in
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
}

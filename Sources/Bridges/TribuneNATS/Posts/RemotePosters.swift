// SPDX-License-Identifier: Apache-2.0

/// The last poster of imported notifications, for each host and name.
nonisolated struct RemotePosters {
  static let countMax = 1_024

  struct Poster: Equatable, Sendable {
    var host: String
    var name: String
    var peer: RemotePeer
    /// The number of notifications since the table last overflowed.
    var count: Int
    var at: ContinuousClock.Instant
  }

  private struct Key: Hashable {
    var host: String
    var name: String
  }

  private var posters: [Key: Poster] = [:]

  mutating func record(
    _ peer: RemotePeer, of name: String, from host: String, at now: ContinuousClock.Instant
  ) {
    let key = Key(host: host, name: name)
    if posters.count >= Self.countMax, posters[key] == nil { posters = [:] }
    let count = posters[key]?.count ?? 0
    posters[key] = Poster(host: host, name: name, peer: peer, count: count + 1, at: now)
  }

  var all: [Poster] { posters.values.sorted { ($0.host, $0.name) < ($1.host, $1.name) } }
}

// SPDX-License-Identifier: Apache-2.0

/// The other hosts that are there, as they say themselves. Nothing is decided by it: a question is asked of each host of
/// the roster, present or not.
nonisolated struct Neighbours {
  static let interval = Duration.seconds(2)
  /// After so long without a word, a host counts as gone.
  static let silenceMax = Duration.seconds(10)
  static let hostsMax = 256

  private struct Neighbour {
    var instance: Instance
    /// Of its roster; empty if it has none.
    var rosterMark: String
    var heardAt: ContinuousClock.Instant
  }

  private var all: [String: Neighbour] = [:]

  /// There is always room for the hosts of the roster.
  mutating func note(
    _ host: String, _ instance: Instance, rosterMark: String, isRostered: Bool,
    at now: ContinuousClock.Instant
  ) {
    if all[host] == nil, all.count >= Self.hostsMax { forgetSilent(at: now) }
    guard isRostered || all[host] != nil || all.count < Self.hostsMax else { return }
    all[host] = Neighbour(instance: instance, rosterMark: rosterMark, heardAt: now)
  }

  /// The hosts that have another roster.
  func others(than rosterMark: String) -> [String] {
    guard !rosterMark.isEmpty else { return [] }
    return all.filter { !["", rosterMark].contains($0.value.rosterMark) }.keys.sorted()
  }

  mutating func forgetSilent(at now: ContinuousClock.Instant) {
    all = all.filter { now - $0.value.heardAt <= Self.silenceMax }
  }

  func isPresent(_ host: String, _ instance: Instance) -> Bool { all[host]?.instance == instance }

  func isPresent(_ host: String) -> Bool { all[host] != nil }
}

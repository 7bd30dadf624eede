// SPDX-License-Identifier: Apache-2.0

/// The hosts whose gateways have announced themselves recently.
nonisolated struct Neighbours {
  static let interval = Duration.seconds(2)
  static let silenceMax = Duration.seconds(10)
  static let hostsMax = 256

  private struct Neighbour {
    var instance: Instance
    var rosterMark: String
    var heardAt: ContinuousClock.Instant
  }

  private var all: [String: Neighbour] = [:]

  /// Remembers every host of the roster, but other hosts only until `hostsMax` hosts are known.
  mutating func remember(
    _ host: String, _ instance: Instance, rosterMark: String, isRostered: Bool,
    at now: ContinuousClock.Instant
  ) {
    if all[host] == nil, all.count >= Self.hostsMax { forgetSilent(at: now) }
    guard isRostered || all[host] != nil || all.count < Self.hostsMax else { return }
    all[host] = Neighbour(instance: instance, rosterMark: rosterMark, heardAt: now)
  }

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

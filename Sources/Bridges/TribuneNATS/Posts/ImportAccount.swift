// SPDX-License-Identifier: Apache-2.0

/// What has come from other hosts: finds what comes twice, and what is missing.
nonisolated struct ImportAccount {
  static let hostsMax = 64
  static let namesMax = 1_024

  enum Arrival: Equatable, Sendable {
    case new(lost: UInt64)
    /// To be posted. The gateway there has started anew or has missed something, and nobody knows what.
    case newAfterGap
    /// Not to be posted: what its host exported later has come before it. It counts among those lost.
    case late(lost: UInt64)
    /// It has come before, or is of a process before the one that exports now.
    case stale
  }

  private struct Origin {
    var instance: Instance
    var former: Instance?
    /// Of the last one that was posted, whatever its name.
    var sequence: UInt64
    var last: [String: ExportNumber]
  }

  private var origins: [String: Origin] = [:]
  /// The hosts in the order of their coming, so that one can be forgotten for another.
  private var order: [String] = []

  mutating func note(
    _ number: ExportNumber, of name: String, from host: String, _ instance: Instance
  ) -> Arrival {
    guard var origin = origins[host] else {
      add(host, Origin(instance: instance, sequence: number.sequence, last: [name: number]))
      return .new(lost: 0)
    }
    defer { origins[host] = origin }
    guard origin.instance == instance else {
      guard origin.former != instance else { return .stale }
      origin = Origin(
        instance: instance, former: origin.instance, sequence: number.sequence, last: [name: number])
      return .newAfterGap
    }
    if origin.last.count >= Self.namesMax, origin.last[name] == nil { origin.last = [:] }
    let last = origin.last[name]
    if let last, number.sequence <= last.sequence { return .stale }
    origin.last[name] = number
    // Its counts have started again if this one is not greater.
    let lost = last.map { number.count > $0.count ? number.count - $0.count - 1 : 0 } ?? 0
    guard number.sequence > origin.sequence else { return .late(lost: lost + 1) }
    origin.sequence = number.sequence
    return .new(lost: lost)
  }

  private mutating func add(_ host: String, _ origin: Origin) {
    if order.count >= Self.hostsMax { origins[order.removeFirst()] = nil }
    order.append(host)
    origins[host] = origin
  }
}

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
    /// It has come before.
    case stale
  }

  fileprivate struct Origin {
    var instance: Instance
    /// Of the last one that was posted, whatever its name.
    var sequence: UInt64
    var last: [String: ExportNumber]
  }

  /// Of each host, the one that was heard last, and the one before: a process of which late ones come, or another gateway of
  /// the same name, as nobody can tell whether one is forged.
  private var origins: [String: [Origin]] = [:]
  /// The hosts in the order of their coming, so that one can be forgotten for another.
  private var order: [String] = []

  mutating func note(
    _ number: ExportNumber, of name: String, from host: String, _ instance: Instance
  ) -> Arrival {
    guard var known = origins[host] else {
      add(host, Origin(instance: instance, sequence: number.sequence, last: [name: number]))
      return .new(lost: 0)
    }
    defer { origins[host] = known }
    guard let index = known.firstIndex(where: { $0.instance == instance }) else {
      known = [Origin(instance: instance, sequence: number.sequence, last: [name: number]), known[0]]
      return .newAfterGap
    }
    var origin = known[index]
    let arrival = origin.note(number, of: name)
    if arrival != .stale {
      known.remove(at: index)
      known.insert(origin, at: 0)
    }
    return index > 0 && arrival != .stale ? .newAfterGap : arrival
  }

  private mutating func add(_ host: String, _ origin: Origin) {
    if order.count >= Self.hostsMax { origins[order.removeFirst()] = nil }
    order.append(host)
    origins[host] = [origin]
  }
}

nonisolated extension ImportAccount.Origin {
  fileprivate mutating func note(_ number: ExportNumber, of name: String) -> ImportAccount.Arrival {
    if last.count >= ImportAccount.namesMax, last[name] == nil { last = [:] }
    let former = last[name]
    if let former, number.sequence <= former.sequence { return .stale }
    last[name] = number
    // Its counts have started again if this one is not greater.
    let lost = former.map { number.count > $0.count ? number.count - $0.count - 1 : 0 } ?? 0
    guard number.sequence > sequence else { return .late(lost: lost + 1) }
    sequence = number.sequence
    return .new(lost: lost)
  }
}

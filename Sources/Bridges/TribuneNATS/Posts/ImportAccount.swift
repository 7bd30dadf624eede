// SPDX-License-Identifier: Apache-2.0

/// Detects duplicates and gaps in the notifications of other hosts.
nonisolated struct ImportAccount {
  static let hostsMax = 64
  static let namesMax = 1_024

  enum Arrival: Equatable, Sendable {
    case new(lost: UInt64)
    /// The notification follows a loss of unknown size.
    case newAfterGap
    /// A notification with a higher number came first, so this one is not posted. `lost` includes this one.
    case late(lost: UInt64)
    case stale
  }

  fileprivate struct Origin {
    var instance: Instance
    /// The highest `ExportNumber.sequence` so far, over all names.
    var sequence: UInt64
    var last: [String: ExportNumber]
  }

  /// For each host, the two instances (`ExportCounter.instance`) whose notifications arrived last. The second
  /// can be a former instance with notifications on their way, or that of another gateway with the same name.
  private var origins: [String: [Origin]] = [:]
  /// The hosts in the order in which the account forgets them.
  private var order: [String] = []
  /// True once this account has forgotten a host. From then on, an unknown host may be a forgotten one, and
  /// its first notification may follow a gap.
  private var hasForgotten = false

  mutating func record(
    _ number: ExportNumber, of name: String, from host: String, _ instance: Instance
  ) -> Arrival {
    guard var known = origins[host] else {
      add(host, Origin(instance: instance, sequence: number.sequence, last: [name: number]))
      return hasForgotten ? .newAfterGap : .new(lost: 0)
    }
    defer { origins[host] = known }
    guard let index = known.firstIndex(where: { $0.instance == instance }) else {
      known = [Origin(instance: instance, sequence: number.sequence, last: [name: number]), known[0]]
      return .newAfterGap
    }
    var origin = known[index]
    let arrival = origin.record(number, of: name)
    if arrival != .stale {
      known.remove(at: index)
      known.insert(origin, at: 0)
    }
    return index > 0 && arrival != .stale ? .newAfterGap : arrival
  }

  private mutating func add(_ host: String, _ origin: Origin) {
    if order.count >= Self.hostsMax {
      origins[order.removeFirst()] = nil
      hasForgotten = true
    }
    order.append(host)
    origins[host] = [origin]
  }
}

nonisolated extension ImportAccount.Origin {
  fileprivate mutating func record(_ number: ExportNumber, of name: String) -> ImportAccount.Arrival {
    if last.count >= ImportAccount.namesMax, last[name] == nil { last = [:] }
    let former = last[name]
    if let former, number.sequence <= former.sequence { return .stale }
    last[name] = number
    // If `count` has not grown, the sender's counts have restarted.
    let lost = former.map { number.count > $0.count ? number.count - $0.count - 1 : 0 } ?? 0
    guard number.sequence > sequence else { return .late(lost: lost + 1) }
    sequence = number.sequence
    return .new(lost: lost)
  }
}

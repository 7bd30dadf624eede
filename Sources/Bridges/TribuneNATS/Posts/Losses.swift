// SPDX-License-Identifier: Apache-2.0

/// Losses that are not announced yet.
nonisolated struct Losses: Equatable, Sendable {
  struct Loss: Equatable, Sendable {
    /// The host whose notifications are lost; nil if those of any host may be lost.
    var host: String?
    /// Nil if unknown.
    var count: UInt64?
  }

  static let hostsMax = 64

  private var hosts: [String: Loss] = [:]
  /// The sum of the losses without a host, and of those of hosts beyond `hostsMax`; nil for none.
  private var any: Loss?

  var isEmpty: Bool { hosts.isEmpty && any == nil }

  mutating func add(_ count: UInt64?, from host: String?) {
    if let host, hosts[host] != nil || hosts.count < Self.hostsMax {
      hosts[host] = Self.sum(hosts[host], count, host)
    } else {
      any = Self.sum(any, count, nil)
    }
  }

  private static func sum(_ loss: Loss?, _ count: UInt64?, _ host: String?) -> Loss {
    guard let loss else { return Loss(host: host, count: count) }
    guard let known = loss.count, let count else { return Loss(host: host, count: nil) }
    return Loss(host: host, count: known &+ count)
  }

  mutating func take() -> [Loss] {
    defer { self = Losses() }
    return hosts.keys.sorted().compactMap { hosts[$0] } + [any].compactMap(\.self)
  }
}

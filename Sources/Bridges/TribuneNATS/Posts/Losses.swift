// SPDX-License-Identifier: Apache-2.0

/// What was lost and has not been announced yet.
nonisolated struct Losses: Equatable, Sendable {
  struct Loss: Equatable, Sendable {
    /// Nil if it may be any.
    var host: String?
    /// Nil if nobody knows how many.
    var count: UInt64?
  }

  static let hostsMax = 64

  private var hosts: [String: Loss] = [:]
  /// Of any host, or of more hosts than are told apart.
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

  /// What has accumulated, in the order of the hosts' names; then begins anew.
  mutating func take() -> [Loss] {
    defer { self = Losses() }
    return hosts.keys.sorted().compactMap { hosts[$0] } + [any].compactMap(\.self)
  }
}

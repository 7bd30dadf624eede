// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// What gateways tell each other when a lease has become free, so that nobody who waits for it has to ask again and
/// again. Nothing is decided by it.
nonisolated package enum LeaseNotice: Equatable, Sendable {
  /// By the host that had it.
  case released
  /// Somebody took it from this host.
  case broken(owner: String, why: String)

  package init(_ message: ClusterMessage) throws(EnvelopeError) {
    switch message.headers[.kind] {
    case "release": self = .released
    case "break":
      guard let owner = message.headers[.object], Subjects.isToken(owner),
        let why = HeaderText.unescape(message.headers[.reason] ?? "", lengthMax: WireLimits.reasonLength)
      else { throw EnvelopeError(message: "does not say whose lease was broken, and why") }
      self = .broken(owner: owner, why: why)
    default: throw EnvelopeError(message: "has no valid Tribune-Kind")
    }
  }

  package var headers: [ClusterMessage.Header: String] {
    switch self {
    case .released: [.kind: "release"]
    case .broken(let owner, let why): [.kind: "break", .object: owner, .reason: HeaderText.escape(why)]
    }
  }

  /// The notification's name on the bus of each host.
  package var name: String {
    switch self {
    case .released: "cluster.lease.didRelease"
    case .broken: "cluster.lease.didBreak"
    }
  }
}

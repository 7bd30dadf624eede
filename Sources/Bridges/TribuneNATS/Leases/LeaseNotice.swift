// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Tells other gateways of a free lease, so programs that wait for it ask again at once. Who gets the lease
/// does not depend on notices.
nonisolated enum LeaseNotice: Equatable, Sendable {
  /// `owner` is nil if the announcing host itself was the owner.
  case released(owner: String?)
  case broken(owner: String, why: String)

  init(_ message: ClusterMessage) throws(EnvelopeError) {
    switch message.headers[.kind] {
    case "release":
      let owner = message.headers[.object]
      guard owner.map(LeaseOwner.isName) ?? true else {
        throw EnvelopeError(message: "does not say who has released the lease")
      }
      self = .released(owner: owner)
    case "break":
      guard let owner = message.headers[.object], LeaseOwner.isName(owner),
        let why = ByteEscape.header.unescape(
          message.headers[.reason] ?? "", lengthMax: WireLimits.reasonLength)
      else { throw EnvelopeError(message: "does not say whose lease was broken, and why") }
      self = .broken(owner: owner, why: why)
    default: throw EnvelopeError(message: "has no valid Tribune-Kind")
    }
  }

  var headers: [ClusterMessage.Header: String] {
    switch self {
    case .released(let owner): owner.map { [.kind: "release", .object: $0] } ?? [.kind: "release"]
    case .broken(let owner, let why):
      [.kind: "break", .object: owner, .reason: ByteEscape.header.escape(why)]
    }
  }

  var name: String {
    switch self {
    case .released: "cluster.lease.didRelease"
    case .broken: "cluster.lease.didBreak"
    }
  }
}

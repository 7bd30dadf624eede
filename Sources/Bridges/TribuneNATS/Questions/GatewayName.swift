// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A name that only gateways answer.
nonisolated enum GatewayName: Equatable, Sendable {
  /// `scope.cluster.NAME` asks NAME on every host, including this one.
  case cluster(String)
  /// `scope.host.NAME` asks NAME on this host only, even if the configuration says `Scope=cluster`.
  case host(String)
  case report(HostReport.Kind)
  case lease

  static let clusterPatterns = ["scope.cluster.**"] + HostReport.Kind.allCases.map(\.rawValue)
  static let hostPattern = "scope.host.**"

  init?(_ name: String) {
    if let kind = HostReport.Kind(rawValue: name) {
      self = .report(kind)
    } else if LeaseRequest.names.contains(name) {
      self = .lease
    } else if let name = Self.rest(of: name, behind: "scope.cluster.") {
      self = .cluster(name)
    } else if let name = Self.rest(of: name, behind: "scope.host.") {
      self = .host(name)
    } else {
      return nil
    }
  }

  private static func rest(of name: String, behind prefix: String) -> String? {
    name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : nil
  }
}

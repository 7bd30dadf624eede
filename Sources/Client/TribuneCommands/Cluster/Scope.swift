// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// The hosts whose delegates a question concerns. This host's tribune-nats asks these delegates.
enum Scope: String, Sendable, CaseIterable {
  case host
  case cluster

  static let words = allCases.map(\.rawValue)

  func name(_ name: String) -> String { "scope.\(rawValue).\(name)" }
}

extension Tribune.Outcome {
  /// True for a delegate of tribune-nats, which attaches one delegate for each host.
  var isOfTribuneNATS: Bool { process == "tribune-nats" }
}

extension Invocation {
  /// The value of `--scope=`; nil without this option. In this case, tribune-nats's configuration decides.
  func scope() -> Scope? { text(.scope).flatMap { Scope(rawValue: $0) } }

  func scope(of name: String) throws(CommandError) -> Scope? {
    guard let scope = scope() else { return nil }
    guard NameSyntax.isName(scope.name(name).utf8Bytes) else {
      let length = WireLimits.nameLength - scope.name("").utf8.count
      throw .usage("\"\(name.terminalSafe)\" is too long: with --scope, a name has at most \(length) bytes")
    }
    return scope
  }
}

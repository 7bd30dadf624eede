// SPDX-License-Identifier: Apache-2.0

/// The last tokens of the reply subjects at which JetStream says that it has stored something.
///
/// An answer may be for the gateway's process before this one, so each process has tokens of its own.
nonisolated package struct StoreTokens: Sendable {
  package enum Kind: String, Sendable {
    case durable = "d"
    case retained = "r"
  }

  private let prefix: String

  package init(_ kind: Kind) { prefix = "\(kind.rawValue)\(Instance().text)-" }

  package func token(_ number: UInt64) -> String { "\(prefix)\(number)" }

  /// - Returns: nil if the token is none of these.
  package func number(of token: String) -> UInt64? {
    token.hasPrefix(prefix) ? UInt64(token.dropFirst(prefix.count)) : nil
  }
}

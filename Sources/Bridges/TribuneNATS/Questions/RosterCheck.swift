// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneService

/// Checks that all present hosts have the same roster. A different one means that the set of hosts to ask is
/// uncertain.
nonisolated final class RosterCheck: Sendable {
  /// Hosts named in a message.
  private static let namesMax = 8

  /// Of this host's roster; empty without one.
  let mark: String
  private let host: String
  private let others = Mutex<[String]>([])

  init(_ settings: NATSSettings) { (mark, host) = (settings.rosterMark, settings.host) }

  /// The reason to block all questions, as far as known.
  var doubt: String? {
    let others = others.withLock { $0 }
    return others.isEmpty ? nil : Self.text(others.prefix(Self.namesMax).joined(separator: " "), host)
  }

  /// The reason to block another host's question.
  func doubt(about other: String, with mark: String) -> String? {
    self.mark.isEmpty || mark == self.mark ? nil : Self.text(host, other)
  }

  private static func text(_ one: String, _ other: String) -> String {
    "Roster= of \(one) is another one than that of \(other)"
  }

  /// - Parameter others: the present hosts with a different roster.
  func note(_ others: [String]) {
    let wasKnown = doubt != nil
    self.others.withLock { $0 = others }
    if !wasKnown, let doubt { ServiceLog.error("\(doubt): questions to the cluster are vetoed") }
  }
}

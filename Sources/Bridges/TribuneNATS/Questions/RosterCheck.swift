// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneService

/// Checks that all present hosts have the same roster. Otherwise, it is uncertain which hosts must be asked.
nonisolated final class RosterCheck: Sendable {
  private static let namesMax = 8

  /// The hash of this host's roster; empty without a roster.
  let mark: String
  private let host: String
  private let others = Mutex<[String]>([])

  init(_ settings: NATSSettings) { (mark, host) = (settings.rosterMark, settings.host) }

  var doubt: String? {
    let others = others.withLock { $0 }
    return others.isEmpty ? nil : Self.text(others.prefix(Self.namesMax).joined(separator: " "), host)
  }

  func doubt(about other: String, with mark: String) -> String? {
    self.mark.isEmpty || mark == self.mark ? nil : Self.text(host, other)
  }

  private static func text(_ one: String, _ other: String) -> String {
    "Roster= of \(one) is another one than that of \(other)"
  }

  /// - Parameter others: the hosts with a different roster.
  func update(with others: [String]) {
    let wasKnown = doubt != nil
    self.others.withLock { $0 = others }
    if !wasKnown, let doubt { ServiceLog.error("\(doubt): questions to the cluster are vetoed") }
  }
}

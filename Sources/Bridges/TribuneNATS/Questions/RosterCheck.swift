// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TribuneService

/// Whether the hosts that are there have the same roster: as long as one has another, nobody knows who has to be asked.
nonisolated final class RosterCheck: Sendable {
  /// More hosts than these are not named.
  private static let namesMax = 8

  /// Of this host's roster; empty if it has none.
  let mark: String
  private let host: String
  private let others = Mutex<[String]>([])

  init(_ settings: NATSSettings) { (mark, host) = (settings.rosterMark, settings.host) }

  /// Why no question passes; nil if it may, as far as it is known now.
  var doubt: String? {
    let others = others.withLock { $0 }
    return others.isEmpty ? nil : Self.text(others.prefix(Self.namesMax).joined(separator: " "), host)
  }

  /// Why a question of a host does not pass; nil if it may.
  func doubt(about other: String, with mark: String) -> String? {
    self.mark.isEmpty || mark == self.mark ? nil : Self.text(host, other)
  }

  private static func text(_ one: String, _ other: String) -> String {
    "Roster= of \(one) is another one than that of \(other)"
  }

  /// - Parameter others: the hosts that are there and have another roster.
  func note(_ others: [String]) {
    let wasKnown = doubt != nil
    self.others.withLock { $0 = others }
    if !wasKnown, let doubt { ServiceLog.error("\(doubt): questions to the cluster are vetoed") }
  }
}

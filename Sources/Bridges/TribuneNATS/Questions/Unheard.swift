// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The questions that were vetoed because NATS or a host was not heard.
///
/// When it is heard again, whoever waits for another verdict learns that, as from any delegate that may answer otherwise now.
nonisolated package struct Unheard {
  package static let namesMax = 256

  private var announcements: Set<String> = []

  package init() {}

  /// - Parameter name: of the question.
  package mutating func note(_ name: String) {
    guard announcements.count < Self.namesMax, let may = NameSyntax.may(forQuestion: name) else { return }
    announcements.insert(may)
  }

  /// The names of what is to be posted, without an object, which counts for all; then begins anew.
  package mutating func take() -> [String] {
    defer { announcements = [] }
    return announcements.sorted()
  }
}

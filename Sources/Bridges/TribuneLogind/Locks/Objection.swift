// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An objection on the bus to an action.
nonisolated package struct Objection: Hashable, Sendable {
  package var who: String
  package var why: String

  package init(who: String, why: String) { (self.who, self.why) = (who, why) }

  /// One line, escaped for terminals.
  package var line: String { "\(who): \(why)".escaped }
}

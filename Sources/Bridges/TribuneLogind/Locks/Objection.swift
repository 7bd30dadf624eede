// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A reason on the bus against an action.
nonisolated package struct Objection: Hashable, Sendable {
  package var who: String
  package var why: String

  package init(who: String, why: String) { (self.who, self.why) = (who, why) }

  package var line: String { "\(who): \(why)".escaped }
}

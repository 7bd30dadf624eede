// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// Who on the bus objects to an action, and why.
nonisolated package struct Objection: Hashable, Sendable {
  package var who: String
  package var why: String

  package init(who: String, why: String) { (self.who, self.why) = (who, why) }

  package var line: String { "\(who): \(why)".escaped }
}

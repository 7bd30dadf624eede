// SPDX-License-Identifier: Apache-2.0

import TribuneLog
import TribuneWire

/// The positions of a session's entries in the log: its connect entry, and the frames that have registered something.
struct LogPositions {
  /// Nil for a session that the log does not know.
  var connect: EntryPosition?
  var suspend: EntryPosition?
  var registrations: [Serial: EntryPosition] = [:]
}

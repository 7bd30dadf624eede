// SPDX-License-Identifier: Apache-2.0

import TribuneLog
import TribuneWire

/// Where the log speaks of a session, and of the frames that have registered what it has.
struct LogPositions {
  /// Nil for a session that the log does not know.
  var connect: EntryPosition?
  var suspend: EntryPosition?
  var registrations: [Serial: EntryPosition] = [:]
}

// SPDX-License-Identifier: Apache-2.0

import TribuneLog
import TribuneWire

/// The log positions of a session's connect entry, suspension and registrations.
struct LogPositions {
  var connect: EntryPosition?
  var suspend: EntryPosition?
  var registrations: [Serial: EntryPosition] = [:]
}

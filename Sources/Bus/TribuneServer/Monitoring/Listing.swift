// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// A list under way that looks at all connections.
///
/// It is made and sent in parts, because the bus can have as many registrations as take a tenth of a second, and every
/// user can ask for lists. What comes or goes meanwhile may be missing in it.
final class Listing {
  let serial: Serial
  let subject: ListSubject
  /// The connections that are still to be looked at, the next one last.
  var connections: [ConnectionID]
  /// What is sent when all of them were looked at, in order.
  var entries: [Entry] = []
  /// How many of these were sent.
  var sentCount = 0
  var isComplete = false
  /// What users did, for a list of that.
  var users: UserTraffic?

  init(_ subject: ListSubject, serial: Serial, connections: [ConnectionID]) {
    (self.subject, self.serial, self.connections) = (subject, serial, connections)
  }
}

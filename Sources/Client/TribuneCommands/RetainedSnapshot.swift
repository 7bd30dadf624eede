// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneWire

/// The retained notifications of a name, as they are when the bus takes the request.
struct RetainedSnapshot: Sendable {
  private(set) var notifications: [Notification] = []
  /// How many more there are, beyond what a connection buffers.
  private(set) var lost = 0

  /// - Parameter object: empty for any.
  /// - Throws: as `Connection.observe`; `notPermitted` if this user may observe none of it.
  init(of name: String, object: String = "", over connection: Connection) async throws(TribuneError) {
    let sequence = try await connection.observe(name, object: object, limit: .max, retained: true)
    // It ends after what has come: the whole snapshot, perhaps with notifications that were posted since.
    await sequence.cancel()
    for try await delivery in sequence {
      switch delivery {
      case .notification(let notification): if notification.isRetained { notifications.append(notification) }
      case .lost(let count): lost = lost.saturatingAdding(count)
      // The snapshot comes again over the next connection.
      case .interrupted: notifications = []
      }
    }
  }
}

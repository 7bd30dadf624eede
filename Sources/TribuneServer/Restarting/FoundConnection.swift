// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What a state that is being replayed says of one connection.
struct FoundConnection {
  /// What is to become of it.
  enum Fate {
    /// It goes on.
    case survives
    /// It goes on, but for what had been queued for it: so many notifications were not sent.
    case loses(UInt32)
    /// It has to connect again. Its socket can still be told so, unless that may be in the middle of a frame.
    case restarts(isTold: Bool)
  }

  let facts: ConnectionFacts
  var position: StatePosition
  var suspendPosition: StatePosition?
  var registered: [Serial: StatePosition] = [:]
  /// Frames that the bus had said, with their numbers.
  var said: [(number: UInt32, frame: ByteBuffer)] = []
  /// What was under way when it was handed over.
  var stream: ByteBuffer?
  /// Notifications that it had been queued, ever.
  var queuedCount: UInt32 = 0
  var fate = Fate.survives

  /// Says what becomes of it: after a death without a hand-over, its cell says what is lost.
  mutating func judge(by cell: StateCell?, id: ConnectionID, isHandedOver: Bool) {
    guard let cell, cell.connection == id else {
      fate = .restarts(isTold: false)
      return
    }
    queuedCount = cell.queued
    if isHandedOver {
      fate = cell.flags.contains(.incomplete) ? .restarts(isTold: true) : .survives
    } else if !cell.flags.isDisjoint(with: [.sending, .unrecorded]) {
      fate = .restarts(isTold: false)
    } else if !cell.flags.isDisjoint(with: [.receiving, .incomplete]) {
      fate = .restarts(isTold: true)
    } else {
      fate = .loses(cell.queued &- cell.sent &+ cell.held)
      queuedCount &+= cell.held
      said.removeAll { Int32(bitPattern: $0.number &- cell.saidSent) <= 0 }
    }
  }
}

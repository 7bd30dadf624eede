// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

/// What is written of a connection as it happens. The numbers are places in its cell.
nonisolated package enum StateCellWord: Int, CaseIterable, Sendable {
  /// `StateCellFlags`.
  case flags = 0
  /// Notifications that were queued for it.
  case queued = 1
  /// Notifications that it was sent.
  case sent = 2
  /// Frames of the bus's own that it was sent.
  case saidSent = 3
  /// Notifications that are held for it.
  case held = 4
  /// Notifications that it was told are lost.
  case lost = 5
}

nonisolated package struct StateCellFlags: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A read is under way, or a frame is half read.
  package static let receiving = StateCellFlags(rawValue: 1)
  /// A write is under way, or a frame is half written.
  package static let sending = StateCellFlags(rawValue: 2)
  /// A frame waits to be sent that must not be lost and is not in the log.
  package static let unrecorded = StateCellFlags(rawValue: 4)
  /// Something that it has registered is not in the log, for want of room.
  package static let incomplete = StateCellFlags(rawValue: 8)
  /// Its socket is shut, and it waits for the connection that comes in its place.
  package static let orphan = StateCellFlags(rawValue: 16)
}

/// What a cell says.
nonisolated package struct StateCell: Equatable, Sendable {
  package var connection: ConnectionID
  package var flags: StateCellFlags = []
  package var queued: UInt32 = 0
  package var sent: UInt32 = 0
  package var saidSent: UInt32 = 0
  package var held: UInt32 = 0
  /// Nil where it is damaged: nothing but a figure depends on it.
  package var lost: UInt32? = 0
}

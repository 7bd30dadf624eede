// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

/// What keeps a state that another daemon left from being taken over.
nonisolated package enum StateFlaw: Error, Equatable, Sendable, CustomStringConvertible {
  /// It is no state at all.
  case foreign
  /// Somebody could still make it shorter, and touching what is gone would end the daemon.
  case notSealed
  /// It ends before what its header says.
  case truncated
  /// A newer daemon wrote it.
  case newer(version: UInt32)
  /// Its header is not what was written.
  case damaged
  /// So many daemons, one after the other, have died of it, or so it looks.
  case deadly(takeOvers: UInt32)
  case failed(Errno)

  package var description: String {
    switch self {
    case .foreign: "it is not the state of a bus"
    case .notSealed: "its length is not sealed"
    case .truncated: "it is truncated"
    case .newer(let version): "its version \(version) is newer than \(StateHeader.version), the last known"
    case .damaged: "its header is damaged"
    case .deadly(let takeOvers): "\(takeOvers) daemons in a row have died while they took it over"
    case .failed(let error): "it cannot be mapped: \(error)"
    }
  }
}

/// Where the log of a state stopped making sense.
nonisolated package struct StateDamage: Equatable, Sendable, CustomStringConvertible {
  /// Of the first record that is not what was written.
  package let position: StatePosition
  /// Bytes from there on, which nothing is known of.
  package let unreadLength: Int

  package var description: String {
    "the record at \(position.offset) is damaged; with it, \(unreadLength) bytes of the log are dropped"
  }
}

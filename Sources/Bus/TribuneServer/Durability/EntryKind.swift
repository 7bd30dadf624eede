// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
package import TribuneLog
package import TribuneWire

/// The kind of a log entry. Numbers are never reused.
nonisolated package enum EntryKind: UInt8, CaseIterable, Sendable {
  case counters = 1
  case connect = 2
  case frame = 3
  case disconnect = 4
  /// The core's time has advanced. The entry lists connections whose deadlines wait for their unread input.
  case advance = 5
  case retained = 6
  case query = 7
  case awaitedPost = 8
  /// A queued control frame that must not be lost. The entry's time is a `ControlFrameID`.
  case controlFrame = 9
  case questionFailure = 10
  /// A connection's partial input and unsent output, in a hand-over.
  case inFlight = 11
  /// A suspended connection's buffered notifications, in a hand-over.
  case buffered = 12
  case handoverEnd = 13
  case postponedPost = 14
  case postponedPostDone = 15
  /// The client must reconnect before the entry's time.
  case detached = 16
  /// The configuration for all later entries (`Bus.restoreConfiguration`).
  case configuration = 17
  /// The policy has ended registrations.
  case registrationEnds = 18
  /// Questions that wait for a turn at the connection, and its unread questions (`QuestionTurns`).
  case questionTurns = 19
  /// The client has read its unread questions. The bus then went on with questions that waited for turns.
  case questionsRead = 20
  /// The connection replaces an earlier connection of its client.
  case succession = 21
  /// The connection will not acknowledge an awaited post.
  case abandonment = 22
  case action = 23
}

extension LogEntry {
  nonisolated package var kind: EntryKind? { EntryKind(rawValue: rawKind) }
  nonisolated package var connection: ConnectionID { ConnectionID(rawValue: owner) }
  nonisolated package var moment: Instant { Instant(nanoseconds: time) }
}

extension WriteAheadLog {
  @inline(__always) nonisolated package func append(
    _ kind: EntryKind, connection: ConnectionID, at moment: Instant, prefix: (UInt64, UInt64)? = nil,
    _ head: RawSpan, _ tail: RawSpan = RawSpan()
  ) -> EntryPosition? {
    append(
      kind: kind.rawValue, owner: connection.rawValue, time: moment.nanoseconds, prefix: prefix, head, tail)
  }

  nonisolated package func appendToCompaction(
    _ kind: EntryKind, connection: ConnectionID, at moment: Instant, _ body: RawSpan
  ) -> EntryPosition? {
    appendToCompaction(kind: kind.rawValue, owner: connection.rawValue, time: moment.nanoseconds, body)
  }
}

/// The kinds of ids, which the bus does not reuse while the log exists. Each kind is one sequence.
nonisolated enum LoggedSequence: Int, Sendable {
  case connection = 0
  case query = 1
  case delegate = 2
}

extension WriteAheadLog {
  @inline(__always) nonisolated func setLast(_ sequence: LoggedSequence, _ number: UInt64) {
    setLast(number, ofSequence: sequence.rawValue)
  }

  nonisolated func last(_ sequence: LoggedSequence) -> LastNumber { last(ofSequence: sequence.rawValue) }
}

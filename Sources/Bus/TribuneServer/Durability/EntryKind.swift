// SPDX-License-Identifier: Apache-2.0

package import TribuneCore
package import TribuneLog
package import TribuneWire

/// The kind of a log entry. Numbers are never reused.
nonisolated package enum EntryKind: UInt8, CaseIterable, Sendable {
  /// `LoggedCounters`.
  case counters = 1
  /// `ConnectionFacts`.
  case connect = 2
  /// A client's frame, unchanged.
  case frame = 3
  case disconnect = 4
  /// The core's time was advanced; some connections' deadlines wait.
  case advance = 5
  case retained = 6
  /// All of an open query.
  case query = 7
  /// All of an awaited post.
  case awaitedPost = 8
  /// A control frame that must not be lost; its time is a `ControlFrameID`.
  case controlFrame = 9
  case questionFailure = 10
  /// Partial input and unsent output of a handed-over connection.
  case inFlight = 11
  /// The buffered notifications of a suspended, handed-over connection.
  case buffered = 12
  case handoverEnd = 13
  /// A post that waits until the bus is idle.
  case postponedPost = 14
  /// A postponed post was delivered or dropped.
  case postponedPostDone = 15
  /// The client must reconnect before the entry's time.
  case detached = 16
  /// The core's configuration from here on (`Bus.restoreConfiguration`); empty if it was too long.
  case configuration = 17
  /// The policy has ended a registration.
  case registrationEnd = 18
  /// A connection's waiting questions by delegate, and the unread ones.
  case questionTurns = 19
  /// The client has read stale questions, which released waiting ones.
  case questionsRead = 20
  /// A connection has succeeded another one, and has its account.
  case succession = 21
}

extension LogEntry {
  /// Nil for a kind that only newer versions know.
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

/// Ids that are never reused, as one sequence for each kind.
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

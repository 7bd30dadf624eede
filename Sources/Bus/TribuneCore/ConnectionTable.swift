// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

/// A greeted connection: its registrations, and its queries and awaited posts under way.
struct Connection {
  let id: ConnectionID
  let peer: PeerIdentity
  /// Whom the policy decides about.
  let subject: Subject
  /// The account of its user.
  let account: UserAccount
  /// Bytes charged for each registration, by serial.
  var registeredLengths = SmallDictionary<Serial, Int>()
  var observations = SmallDictionary<Serial, NotificationCenter.Observation>()
  var monitors: [Serial: Monitors.Registration] = [:]
  /// Tokens in the patterns of its observations and monitors.
  var tokenCount = 0
  var delegates: [Serial: DelegateRegistration] = [:]
  /// The delegates, by dedup key.
  var delegatesByDedupKey: [ExactText: DelegateRegistration] = [:]
  /// Patterns of all its delegates, and their tokens.
  var delegatePatterns = (count: 0, tokenCount: 0)
  /// nil until it has had a delegate.
  var inbox: QuestionInbox?
  var holds: [Serial: HoldRegistration] = [:]
  /// Holds by the serial of what changed their reasons last.
  var amendedHolds: [Serial: HoldRegistration] = [:]
  var declarations: [Serial: DeclarationRegistration] = [:]
  /// Queries that it asked, by the serial of the `ask`.
  var queries = SmallDictionary<Serial, QueryID>()
  /// Participants of all its queries.
  var participantCount = 0
  /// Bytes of userInfo kept for its queries under way, whether or not they are charged to its user.
  var questionByteCount = 0
  /// Bytes of reasons and values that its queries and awaited posts have received.
  var answerByteCount = 0
  /// Its awaited posts: their numbers by serial, and the observers of all of them, settled ones included.
  var awaitedPosts: [Serial: Int] = [:]
  var awaitedCount = 0
  /// Numbers of the awaited posts that this connection has not acknowledged.
  var unacknowledgedPosts: Set<Int> = []
  /// Whether its client may come back on another connection, and register the same again.
  var isDetached = false
  /// What is counted of it as an awaited observer; nil until it has answered.
  var observerTally: Tally<ParticipantCounts>?
  /// nil unless the connection is suspended.
  var buffered: BufferedNotifications?

  /// A free place in the table.
  fileprivate var isFree: Bool { id.rawValue == 0 }
  var registrationCount: Int { observations.count + monitors.count + declarations.count }
  /// What is charged for its registrations: each pattern of a delegate counts.
  var chargedRegistrationCount: Int { registeredLengths.count - delegates.count + delegatePatterns.count }
  var waitCount: Int { queries.count + awaitedPosts.count }
  /// Delegates and holds share one limit.
  var delegateCount: Int { delegates.count + holds.count }

  /// Inlined, as is `hasRegistered`, so that the call does not copy the connection.
  @inline(__always) func uses(_ serial: Serial) -> Bool {
    hasRegistered(serial) || queries[serial] != nil || awaitedPosts[serial] != nil
  }

  @inline(__always) func hasRegistered(_ serial: Serial) -> Bool {
    observations[serial] != nil || monitors[serial] != nil || delegates[serial] != nil
      || holds[serial] != nil || amendedHolds[serial] != nil || declarations[serial] != nil
  }
}

/// The connections, by slot and by id.
struct ConnectionTable: ~Copyable {
  /// By slot. A free slot has `free` instead of nil: an Optional would be copied at each read.
  private var places: [Connection] = []
  private let free = Connection(
    id: ConnectionID(rawValue: 0), peer: .unknown, subject: Subject(user: 0), account: UserAccount(uid: 0))
  /// By the number of the id.
  private var slots: [UInt64: ConnectionSlot] = [:]

  /// The connection at a slot, which must not be free.
  subscript(slot: ConnectionSlot) -> Connection {
    @inline(__always) _read {
      precondition(!places[slot.index].isFree, "slot \(slot.index) is free")
      yield places[slot.index]
    }
    @inline(__always) _modify {
      precondition(!places[slot.index].isFree, "slot \(slot.index) is free")
      yield &places[slot.index]
    }
  }

  subscript(id: ConnectionID) -> ConnectionSlot? { slots[id.rawValue] }

  /// All connections, in the order of their slots; only the one with that number unless it is 0.
  func all(of number: UInt64) -> some Sequence<Connection> {
    let found = number == 0 ? places[...] : slots[number].map { places[$0.index...$0.index] } ?? []
    return found.lazy.filter { !$0.isFree }
  }

  var takenSlots: [ConnectionSlot] {
    places.enumerated().filter { !$1.isFree }.map { ConnectionSlot(index: $0.offset) }
  }

  var placeCount: Int { places.count }

  func has(_ slot: ConnectionSlot) -> Bool { slot.index < places.count && !places[slot.index].isFree }

  /// Its slot must be free.
  mutating func insert(_ connection: Connection, at slot: ConnectionSlot) {
    while places.count <= slot.index { places.append(free) }
    precondition(places[slot.index].isFree, "slot \(slot.index) is taken")
    places[slot.index] = connection
    slots[connection.id.rawValue] = slot
  }

  mutating func remove(at slot: ConnectionSlot) {
    slots[self[slot].id.rawValue] = nil
    places[slot.index] = free
  }
}

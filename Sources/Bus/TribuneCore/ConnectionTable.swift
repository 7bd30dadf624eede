// SPDX-License-Identifier: Apache-2.0

import TribunePolicy
import TribuneWire

struct Connection {
  let id: ConnectionID
  let peer: PeerIdentity
  let subject: Subject
  let account: UserAccount
  /// The bytes charged for each registration and each action under way.
  var registeredLengths = SmallDictionary<Serial, Int>()
  var observations = SmallDictionary<Serial, NotificationCenter.Observation>()
  var monitors: [Serial: Monitors.Registration] = [:]
  var tokenCount = 0
  var delegates: [Serial: DelegateRegistration] = [:]
  var delegateKeys: Set<ExactText> = []
  var delegatePatterns = (count: 0, tokenCount: 0)
  var inbox: QuestionInbox?
  var holds: [Serial: HoldRegistration] = [:]
  /// The holds whose reason an `amend` has changed. The key is the serial of the hold's latest `amend`.
  var amendedHolds: [Serial: HoldRegistration] = [:]
  var declarations: [Serial: DeclarationRegistration] = [:]
  /// The key is the serial of the `ask` or the `begin`.
  var actions: [Serial: ActionRegistration] = [:]
  /// Retained notifications that end with the connection, by their number.
  var bound: [UInt64: RetainedNotification] = [:]
  /// The key is the serial of the `ask`.
  var queries = SmallDictionary<Serial, QueryID>()
  var participantCount = 0
  /// The bytes of userInfo that queries keep, including bytes that are exempt from the user's share.
  var questionByteCount = 0
  var answerByteCount = 0
  /// The number of each awaited post in `AwaitedPosts`, by the serial of the post.
  var awaitedPosts: [Serial: Int] = [:]
  /// The number of observers of all `awaitedPosts`, including those that have acknowledged or failed.
  var awaitedCount = 0
  var unacknowledgedPosts: Set<Int> = []
  /// True if the client lost its socket in a restart of the bus. The client can still return and register
  /// again.
  var isDetached = false
  var observerTally: Tally<ParticipantCounts>?
  var buffered: BufferedNotifications?

  fileprivate var isFree: Bool { id.rawValue == 0 }
  var registrationCount: Int { observations.count + monitors.count + declarations.count }
  var chargedRegistrationCount: Int { registeredLengths.count - delegates.count + delegatePatterns.count }
  var waitCount: Int { queries.count + awaitedPosts.count + actions.count }
  var delegateCount: Int { delegates.count + holds.count }

  /// This method and `hasRegistered` are inlined, because a call would copy the connection.
  @inline(__always) func uses(_ serial: Serial) -> Bool {
    hasRegistered(serial) || queries[serial] != nil || awaitedPosts[serial] != nil
      || actions[serial] != nil
  }

  @inline(__always) func hasRegistered(_ serial: Serial) -> Bool {
    observations[serial] != nil || monitors[serial] != nil || delegates[serial] != nil
      || holds[serial] != nil || amendedHolds[serial] != nil || declarations[serial] != nil
  }
}

struct ConnectionTable: ~Copyable {
  /// A free slot contains `free`. If it contained nil, each read of a connection would copy an Optional.
  private var places: [Connection] = []
  private let free = Connection(
    id: ConnectionID(rawValue: 0), peer: .unknown, subject: Subject(user: 0), account: UserAccount(uid: 0))
  private var slots: [UInt64: ConnectionSlot] = [:]

  /// The slot must not be free.
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

  /// The connection with the id `number`. If `number` is 0, all connections in the order of their slots.
  func all(of number: UInt64) -> some Sequence<Connection> {
    let found = number == 0 ? places[...] : slots[number].map { places[$0.index...$0.index] } ?? []
    return found.lazy.filter { !$0.isFree }
  }

  var takenSlots: [ConnectionSlot] {
    places.enumerated().filter { !$1.isFree }.map { ConnectionSlot(index: $0.offset) }
  }

  var placeCount: Int { places.count }

  func has(_ slot: ConnectionSlot) -> Bool { slot.index < places.count && !places[slot.index].isFree }

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

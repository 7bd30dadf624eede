// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribunePolicy
import TribuneWire

/// The content of a log entry of the kind `connect`.
nonisolated struct ConnectionFacts {
  var slot: Int
  /// SO_COOKIE, which is the same in every process that has the socket.
  var cookie: UInt64
  var peer: PeerIdentity
  var subject: Subject
  var connected: Instant
  var limits: FrameLimits
  var isOpen: Bool
  var acceptsFiles: Bool
  var wantsPosters: Bool
  var varlinkSecret: UInt64?

  private static let acceptingFiles: UInt8 = 1
  private static let wantingPosters: UInt8 = 2
  private static let havingSomeGroups: UInt8 = 4
  private static let speakingVarlink: UInt8 = 8

  init(from reader: inout FieldReader) throws(WireError) {
    slot = Int(try reader.integer(UInt32.self))
    cookie = try reader.integer()
    peer = try PeerIdentity(from: &reader)
    connected = Instant(nanoseconds: try reader.integer())
    limits = FrameLimits(
      fields: min(Int(try reader.integer(UInt32.self)), WireLimits.fieldsLength),
      payload: min(Int(try reader.integer(UInt32.self)), WireLimits.payloadLengthCeiling))
    isOpen = try reader.flag()
    let features: UInt8 = try reader.integer()
    acceptsFiles = features & Self.acceptingFiles != 0
    wantsPosters = features & Self.wantingPosters != 0
    let members = try reader.groups()
    let lookedUp = features & Self.havingSomeGroups != 0 ? try reader.groups() : nil
    subject = Subject(user: peer.uid, groups: Groups(members + [peer.gid], lookedUp: lookedUp))
    subject.unit = Subject.Unit(try reader.integer(), peer.units.system)
    varlinkSecret = features & Self.speakingVarlink != 0 ? try reader.integer() : nil
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(UInt32(slot))
    buffer.append(cookie)
    peer.append(to: buffer)
    buffer.append(connected.nanoseconds)
    buffer.append(UInt32(limits.fields))
    buffer.append(UInt32(limits.payload))
    buffer.append(isOpen)
    buffer.append(
      (acceptsFiles ? Self.acceptingFiles : 0) | (wantsPosters ? Self.wantingPosters : 0)
        | (subject.groups.lookedUp == nil ? 0 : Self.havingSomeGroups)
        | (varlinkSecret == nil ? 0 : Self.speakingVarlink))
    buffer.append(groups: subject.groups.members)
    if let lookedUp = subject.groups.lookedUp { buffer.append(groups: lookedUp) }
    buffer.append(subject.unit.number)
    if let varlinkSecret { buffer.append(varlinkSecret) }
  }
}

extension ConnectionFacts {
  init(_ session: Session) {
    slot = session.slot.index
    cookie = session.cookie
    peer = session.peer
    subject = session.subject
    connected = session.connected
    limits = session.limits
    isOpen = session.isOpen
    acceptsFiles = session.output.acceptsFiles
    wantsPosters = session.output.wantsPosters
    varlinkSecret = session.varlink?.secret
  }
}

/// The ids that were given last to a query, a delegate and a connection.
nonisolated struct LoggedCounters {
  var bus: BusCounters
  var lastConnection: ConnectionID
}

nonisolated extension LoggedCounters {
  init(from reader: inout FieldReader) throws(WireError) {
    func next() throws(WireError) -> UInt64 { try reader.integer(UInt64.self).countable }
    bus = BusCounters(lastQuery: try next(), lastDelegate: try next())
    lastConnection = ConnectionID(rawValue: try next())
  }

  func append(to buffer: ByteBuffer) {
    for id in [bus.lastQuery, bus.lastDelegate, lastConnection.rawValue] { buffer.append(id) }
  }
}

extension UInt64 {
  /// An impossibly large number is corrupt. Ids then continue from a number above all used ids.
  fileprivate nonisolated var countable: UInt64 { self <= BusCounters.most ? self : BusCounters.most / 2 }
}

extension FieldReader {
  fileprivate nonisolated mutating func groups() throws(WireError) -> [UInt32] {
    var groups: [UInt32] = []
    for _ in 0..<(try integer(UInt32.self)) { groups.append(try integer()) }
    return groups
  }
}

extension ByteBuffer {
  fileprivate nonisolated func append(groups: [UInt32]) {
    append(UInt32(groups.count))
    for group in groups { append(group) }
  }
}

nonisolated extension Subject.Unit {
  fileprivate var number: UInt8 {
    switch self {
    case .none: 0
    case .known: 1
    case .claimed: 2
    case .unknown: 3
    }
  }

  fileprivate init(_ number: UInt8, _ name: String) {
    switch number {
    case 0: self = .none
    case 1: self = name.isEmpty ? .none : .known(name)
    case 2: self = name.isEmpty ? .none : .claimed(name)
    default: self = .unknown
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What the log says of a connection.
nonisolated struct ConnectionFacts {
  var slot: Int
  /// What the kernel calls its socket, in whatever process that is open.
  var cookie: UInt64
  var peer: PeerIdentity
  var connected: Instant
  /// What its frames may have, as its welcome says.
  var limits: FrameLimits
  /// It has been greeted.
  var isOpen: Bool
  var takesFiles: Bool
  /// When this was written, or swept last.
  var postedCount: UInt64
  var lostCount: UInt64

  init(from reader: inout FieldReader) throws(WireError) {
    slot = Int(try reader.integer(UInt32.self))
    cookie = try reader.integer()
    peer = try PeerIdentity(from: &reader)
    connected = Instant(nanoseconds: try reader.integer())
    limits = FrameLimits(
      fields: min(Int(try reader.integer(UInt32.self)), WireLimits.fieldsLength),
      payload: min(Int(try reader.integer(UInt32.self)), WireLimits.payloadLengthCeiling))
    isOpen = try reader.flag()
    takesFiles = try reader.flag()
    postedCount = try reader.integer(UInt64.self).countable
    lostCount = try reader.integer(UInt64.self).countable
  }

  func append(to buffer: ByteBuffer) {
    buffer.append(UInt32(slot))
    buffer.append(cookie)
    peer.append(to: buffer)
    buffer.append(connected.nanoseconds)
    buffer.append(UInt32(limits.fields))
    buffer.append(UInt32(limits.payload))
    buffer.append(isOpen)
    buffer.append(takesFiles)
    buffer.append(postedCount)
    buffer.append(lostCount)
  }

  /// Appends what was written of a connection, with other counts.
  static func append(_ body: RawSpan, posted: UInt64, lost: UInt64, to buffer: ByteBuffer) {
    buffer.append(body.extracting(droppingLast: 16))
    buffer.append(posted)
    buffer.append(lost)
  }
}

extension ConnectionFacts {
  init(_ session: Session) {
    slot = session.slot.index
    cookie = session.cookie
    peer = session.peer
    connected = session.connected
    limits = session.limits
    isOpen = session.isOpen
    takesFiles = session.output.takesFiles
    postedCount = session.postedCount
    lostCount = session.output.queue.lostCount
  }
}

/// The counters of the bus that go on where another daemon ended.
nonisolated struct LoggedCounters {
  var bus: BusCounters
  var lastConnection: ConnectionID
  var statistics: Statistics

  init(bus: BusCounters, lastConnection: ConnectionID, _ statistics: Statistics) {
    (self.bus, self.lastConnection, self.statistics) = (bus, lastConnection, statistics)
  }

  init(from reader: inout FieldReader) throws(WireError) {
    func next() throws(WireError) -> UInt64 { try reader.integer(UInt64.self).countable }
    bus = BusCounters(
      lastQuery: try next(), lastDelegate: try next(), asked: try next(), vetoed: try next())
    lastConnection = ConnectionID(rawValue: try next())
    statistics = Statistics(posted: try next(), delivered: try next(), lost: try next())
  }

  func append(to buffer: ByteBuffer) {
    for counter in [
      bus.lastQuery, bus.lastDelegate, bus.asked, bus.vetoed, lastConnection.rawValue, statistics.posted,
      statistics.delivered, statistics.lost,
    ] {
      buffer.append(counter)
    }
  }
}

extension UInt64 {
  /// The number, if it can have come about by counting; else it was spoilt before it was written, and becomes one that can
  /// be counted on from: as an id, it is higher than any that was given.
  fileprivate nonisolated var countable: UInt64 { self <= BusCounters.most ? self : BusCounters.most / 2 }
}

// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// The client's id, and the bus's limits.
package struct Welcome: FrameFields {
  package static let kind = FrameKind.welcome

  /// The client's id, `:N` in print.
  package var connection: ConnectionID
  /// Bytes of payload in one frame to the bus.
  package var payloadMax: UInt32
  /// Live observations, monitors and declarations of this connection.
  package var observationsMax: UInt32
  /// Live delegates and holds.
  package var delegatesMax: UInt32
  /// Queries and awaited posts under way.
  package var queriesMax: UInt32
  /// Milliseconds for a query or awaited post: the maximum; the default.
  package var deadlineMax: UInt32
  package var deadlineDefault: UInt32
  /// The daemon's process id.
  package var busPID: UInt32
  /// The daemon's version, for people.
  package var software: String

  package init(
    connection: ConnectionID, payloadMax: UInt32, observationsMax: UInt32, delegatesMax: UInt32,
    queriesMax: UInt32, deadlineMax: UInt32, deadlineDefault: UInt32, busPID: UInt32, software: String
  ) {
    self.connection = connection
    self.payloadMax = payloadMax
    self.observationsMax = observationsMax
    self.delegatesMax = delegatesMax
    self.queriesMax = queriesMax
    self.deadlineMax = deadlineMax
    self.deadlineDefault = deadlineDefault
    self.busPID = busPID
    self.software = software
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), payloadMax: reader.integer(),
      observationsMax: reader.integer(), delegatesMax: reader.integer(), queriesMax: reader.integer(),
      deadlineMax: reader.integer(), deadlineDefault: reader.integer(), busPID: reader.integer(),
      software: reader.text())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.append(payloadMax)
    buffer.append(observationsMax)
    buffer.append(delegatesMax)
    buffer.append(queriesMax)
    buffer.append(deadlineMax)
    buffer.append(deadlineDefault)
    buffer.append(busPID)
    buffer.appendField(software)
  }
}

/// A refusal.
package struct Refusal: FrameFields {
  package static let kind = FrameKind.error

  package var rawCode: UInt16

  /// Nil if this version does not know the number.
  package var code: ErrorCode? { ErrorCode(rawValue: rawCode) }

  package init(rawCode: UInt16) {
    self.rawCode = rawCode
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    rawCode = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(rawCode)
  }
}

/// The bus has carried out a frame.
package struct Okay: FrameFields {
  package static let kind = FrameKind.ok

  /// Serial of the registration; id of the delegate or hold; else 0.
  package var registration: UInt64
  package var delegate: UInt64
  /// Of an `observe`: how many retained notifications follow.
  package var retained: UInt32
  /// Of a `hold` or `attach`: number of actions under way that it could have vetoed.
  package var late: UInt32
  /// Of a `hold`: its expiry, which the bus may have shortened; 0 for none.
  package var expiry: UInt64

  package init(
    registration: UInt64 = 0, delegate: UInt64 = 0, retained: UInt32 = 0, late: UInt32 = 0, expiry: UInt64 = 0
  ) {
    self.registration = registration
    self.delegate = delegate
    self.retained = retained
    self.late = late
    self.expiry = expiry
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      registration: reader.integer(), delegate: reader.integer(), retained: reader.integer(),
      late: reader.integer(), expiry: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(registration)
    buffer.append(delegate)
    buffer.append(retained)
    buffer.append(late)
    buffer.append(expiry)
  }
}

/// Ends a registration, query, awaited post or action.
package struct Cancel: FrameFields {
  package static let kind = FrameKind.cancel

  /// Serial of an `observe`, `attach`, `hold`, `declare`, `monitor`, `ask`, `begin` or awaited `post` of this
  /// connection.
  package var target: UInt64

  package init(target: UInt64) {
    self.target = target
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    target = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(target)
  }
}

/// Replaces a connection that a restart ended.
package struct Succeed: FrameFields {
  package static let kind = FrameKind.succeed

  /// Id of the ended connection.
  package var predecessor: ConnectionID
  /// Notifications that the predecessor received: each `post`, `retained` and `traffic`, and the `count` of each
  /// `lost`.
  package var received: UInt64

  package init(predecessor: ConnectionID, received: UInt64) {
    self.predecessor = predecessor
    self.received = received
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(predecessor: ConnectionID(rawValue: reader.integer()), received: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(predecessor.rawValue)
    buffer.append(received)
  }
}

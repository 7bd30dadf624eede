// SPDX-License-Identifier: Apache-2.0

/// The bus's first frame: the peer's id, and the bus's limits.
package struct Welcome: FrameFields {
  package static let kind = FrameKind.welcome

  package var connection: ConnectionID
  /// Bytes of payload in one frame.
  package var payloadMax: UInt32
  /// Live observations, delegates and queries that one connection may have.
  package var observationsMax: UInt32
  package var delegatesMax: UInt32
  package var queriesMax: UInt32
  /// Milliseconds: the longest deadline of a query, and the deadline if the asker names none.
  package var deadlineMax: UInt32
  package var deadlineDefault: UInt32
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
    connection = ConnectionID(rawValue: try reader.integer())
    payloadMax = try reader.integer()
    observationsMax = try reader.integer()
    delegatesMax = try reader.integer()
    queriesMax = try reader.integer()
    deadlineMax = try reader.integer()
    deadlineDefault = try reader.integer()
    busPID = try reader.integer()
    software = try reader.text()
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

/// A refusal. Its serial is that of the refused frame, or 0 if it concerns the whole connection. The payload is a
/// text for people.
package struct Refusal: FrameFields {
  package static let kind = FrameKind.error

  /// As received: a newer bus may know more codes.
  package var rawCode: UInt16

  package init(_ code: ErrorCode) { rawCode = code.rawValue }

  package var code: ErrorCode? { ErrorCode(rawValue: rawCode) }

  package init(from reader: inout FieldReader) throws(WireError) { rawCode = try reader.integer() }

  package func append(to buffer: ByteBuffer) { buffer.append(rawCode) }
}

/// The bus has done what the frame with this serial requested.
package struct Okay: FrameFields {
  package static let kind = FrameKind.ok

  /// The serial that identifies the registration: an earlier one if the same thing was registered before, 0 if
  /// nothing was registered.
  package var registration: Serial
  /// The delegate's id for an `attach`; else 0.
  package var delegate: UInt64

  package init(registration: Serial = 0, delegate: UInt64 = 0) {
    self.registration = registration
    self.delegate = delegate
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    registration = try reader.integer()
    delegate = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(registration)
    buffer.append(delegate)
  }
}

/// Cancels the request or the registration of the sender's frame `target`: a query, an observation, a delegate, a
/// monitor or the like.
package struct Cancel: FrameFields {
  package static let kind = FrameKind.cancel

  package var target: Serial

  package init(target: Serial) { self.target = target }

  package init(from reader: inout FieldReader) throws(WireError) { target = try reader.integer() }

  package func append(to buffer: ByteBuffer) { buffer.append(target) }
}

/// Resumes a connection that a restart of the bus has ended. The sender has registered again, and asks for the number
/// of notifications that it missed meanwhile.
package struct Succeed: FrameFields {
  package static let kind = FrameKind.succeed

  /// The connection that ended.
  package var predecessor: ConnectionID
  /// How many notifications that connection had received, including those that were reported to it as lost.
  package var received: UInt64

  package init(predecessor: ConnectionID, received: UInt64) {
    self.predecessor = predecessor
    self.received = received
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    predecessor = ConnectionID(rawValue: try reader.integer())
    received = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(predecessor.rawValue)
    buffer.append(received)
  }
}

// SPDX-License-Identifier: Apache-2.0

/// The bus's first frame: who the peer is to it, and what it accepts.
package struct Welcome: FrameFields {
  package static let kind = FrameKind.welcome

  package var connection: ConnectionID
  /// Bytes of payload in one frame.
  package var payloadMax: UInt32
  /// Live observations, delegates and queries that one connection may have.
  package var observationsMax: UInt32
  package var delegatesMax: UInt32
  package var queriesMax: UInt32
  /// Milliseconds that a query may take, and takes when its asker does not say.
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

/// A refusal. Its serial is that of the frame it answers, or 0 when the connection as a whole is meant;
/// the payload is the text for people.
package struct Refusal: FrameFields {
  package static let kind = FrameKind.error

  /// As it came: a newer bus may know more codes.
  package var rawCode: UInt16

  package init(_ code: ErrorCode) { rawCode = code.rawValue }

  package var code: ErrorCode? { ErrorCode(rawValue: rawCode) }

  package init(from reader: inout FieldReader) throws(WireError) {
    rawCode = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(rawCode)
  }
}

/// The bus has done what the frame of this serial asked for.
package struct Okay: FrameFields {
  package static let kind = FrameKind.ok

  /// The serial under which the registration is known, which is an earlier one when the same thing had
  /// been attached before; 0 when nothing was registered.
  package var registration: Serial
  /// The delegate's id, for an `attach`; else 0.
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

/// Takes back what the sender's frame `target` asked for or registered: a query, an observation, a
/// delegate, a monitor.
package struct Cancel: FrameFields {
  package static let kind = FrameKind.cancel

  package var target: Serial

  package init(target: Serial) { self.target = target }

  package init(from reader: inout FieldReader) throws(WireError) {
    target = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(target)
  }
}

/// The sender is what has become of a connection that a restart of the bus ended: it has registered again, and
/// wants to know what was missed in between.
package struct Succeed: FrameFields {
  package static let kind = FrameKind.succeed

  /// The connection that ended.
  package var predecessor: ConnectionID
  /// How many notifications that one had received, with those that it was told were lost.
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

/// The sender is a bus that is to take the place of this one. Behind the `ok`, the connection speaks another language,
/// that of two daemons.
package struct Replace: FrameFields {
  package static let kind = FrameKind.replace

  /// The highest version of a bus's state that the sender reads.
  package var version: UInt32

  package init(version: UInt32) { self.version = version }

  package init(from reader: inout FieldReader) throws(WireError) {
    version = try reader.integer()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(version)
  }
}

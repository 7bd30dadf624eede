// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// An observation.
package struct ObservationEntry: Equatable, Sendable {
  package var connection: ConnectionID
  /// Object empty for any.
  package var pattern: String
  package var object: String
  package var suspension: SuspensionBehavior
  package var isAwaited: Bool

  package init(
    connection: ConnectionID, pattern: String, object: String, suspension: SuspensionBehavior = .coalesce,
    isAwaited: Bool = false
  ) {
    self.connection = connection
    self.pattern = pattern
    self.object = object
    self.suspension = suspension
    self.isAwaited = isAwaited
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), pattern: reader.text(), object: reader.text(),
      suspension: reader.value(), isAwaited: reader.flag())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.appendField(pattern)
    buffer.appendField(object)
    buffer.append(suspension.rawValue)
    buffer.append(isAwaited)
  }
}

/// A delegate, for the subjects *delegates* and *chain*.
package struct DelegateEntry: Equatable, Sendable {
  package var connection: ConnectionID
  package var delegate: DelegateIdentity
  /// Empty for any.
  package var object: String
  package var order: Int32
  package var failurePolicy: FailurePolicy
  /// Milliseconds.
  package var timeout: UInt32
  package var patterns: [String]

  package init(
    connection: ConnectionID, delegate: DelegateIdentity, object: String, order: Int32,
    failurePolicy: FailurePolicy, timeout: UInt32, patterns: [String]
  ) {
    self.connection = connection
    self.delegate = delegate
    self.object = object
    self.order = order
    self.failurePolicy = failurePolicy
    self.timeout = timeout
    self.patterns = patterns
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), delegate: DelegateIdentity(from: &reader),
      object: reader.text(), order: reader.integer(), failurePolicy: reader.value(),
      timeout: reader.integer(), patterns: reader.texts(max: Int(UInt16.max), "patterns"))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    delegate.append(to: buffer)
    buffer.appendField(object)
    buffer.append(order)
    buffer.append(failurePolicy.rawValue)
    buffer.append(timeout)
    buffer.appendFields(patterns)
  }
}

/// A hold, for the subjects *holds* and *chain*.
package struct HoldEntry: Equatable, Sendable {
  package var connection: ConnectionID
  /// The hold's id, label and process.
  package var delegate: DelegateIdentity
  /// Object empty for any.
  package var pattern: String
  package var object: String
  package var why: String
  /// Microseconds since it was taken; until it expires, 0 if it does not.
  package var age: UInt64
  package var remaining: UInt64

  package init(
    connection: ConnectionID, delegate: DelegateIdentity, pattern: String, object: String, why: String,
    age: UInt64, remaining: UInt64
  ) {
    self.connection = connection
    self.delegate = delegate
    self.pattern = pattern
    self.object = object
    self.why = why
    self.age = age
    self.remaining = remaining
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), delegate: DelegateIdentity(from: &reader),
      pattern: reader.text(), object: reader.text(), why: reader.text(), age: reader.integer(),
      remaining: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    delegate.append(to: buffer)
    buffer.appendField(pattern)
    buffer.appendField(object)
    buffer.appendField(why)
    buffer.append(age)
    buffer.append(remaining)
  }
}

/// A delegate that is required and not attached, for the subject *chain*.
package struct MissingEntry: Equatable, Sendable {
  /// `unit:NAME` (of the system's service manager) or `label:NAME`; `*` if `Default=veto` vetoes because no delegate
  /// matches.
  package var name: String

  package init(name: String) {
    self.name = name
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    name = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(name)
  }
}

/// A retained notification.
package struct RetainedEntry: Equatable, Sendable {
  /// The poster's.
  package var connection: ConnectionID
  /// The user in whose share it counts.
  package var uid: UInt32
  package var name: String
  package var object: String
  /// Bytes of userInfo.
  package var length: UInt32
  /// Microseconds since it was posted.
  package var age: UInt64

  package init(
    connection: ConnectionID, uid: UInt32, name: String, object: String, length: UInt32, age: UInt64
  ) {
    self.connection = connection
    self.uid = uid
    self.name = name
    self.object = object
    self.length = length
    self.age = age
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), uid: reader.integer(), name: reader.text(),
      object: reader.text(), length: reader.integer(), age: reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    buffer.append(uid)
    buffer.appendField(name)
    buffer.appendField(object)
    buffer.append(length)
    buffer.append(age)
  }
}

/// A registration that would end, for the subject *endings*.
package struct EndingEntry: Equatable, Sendable {
  package var connection: ConnectionID
  package var peer: PeerIdentity
  /// The missing permission, and any denying line.
  package var why: String

  package init(connection: ConnectionID, peer: PeerIdentity, why: String) {
    self.connection = connection
    self.peer = peer
    self.why = why
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      connection: ConnectionID(rawValue: reader.integer()), peer: PeerIdentity(from: &reader),
      why: reader.text())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(connection.rawValue)
    peer.append(to: buffer)
    buffer.appendField(why)
  }
}

/// The bus has ended a registration.
package enum Ended: FrameFields {
  /// Another delegate replaced this one: its entry, with at most 16 patterns.
  case replaced(DelegateEntry)
  /// A hold has expired.
  case expired
  /// The policy no longer allows the registration; the text gives the reason.
  case notPermitted(String)

  package static let kind = FrameKind.ended

  private enum Tag: UInt8 {
    case replaced = 0
    case expired = 1
    case notPermitted = 2
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    switch try reader.value(Tag.self) {
    case .replaced: self = .replaced(try DelegateEntry(from: &reader))
    case .expired: self = .expired
    case .notPermitted: self = .notPermitted(try reader.text())
    }
  }

  package func append(to buffer: ByteBuffer) {
    switch self {
    case .replaced(let content):
      buffer.append(Tag.replaced.rawValue)
      content.append(to: buffer)
    case .expired:
      buffer.append(Tag.expired.rawValue)
    case .notPermitted(let content):
      buffer.append(Tag.notPermitted.rawValue)
      buffer.appendField(content)
    }
  }
}

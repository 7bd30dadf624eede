// SPDX-License-Identifier: Apache-2.0

package struct HoldEntry: Equatable, Sendable {
  package var connection: ConnectionID
  /// Holds and delegates never share an id.
  package var delegate: DelegateIdentity
  package var pattern: String
  /// Empty for any object.
  package var object: String
  package var why: String
  /// Microseconds since the hold was taken.
  package var age: UInt64
  /// Microseconds until the hold expires; 0 if it does not.
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
    connection = ConnectionID(rawValue: try reader.integer())
    delegate = try DelegateIdentity(from: &reader)
    pattern = try reader.text()
    object = try reader.text()
    why = try reader.text()
    age = try reader.integer()
    remaining = try reader.integer()
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

/// A delegate that the configuration requires and that is not attached.
package struct MissingEntry: Equatable, Sendable {
  /// For a name that is vetoed if no delegate answers, when there is none.
  package static let anyDelegate = "*"

  /// `label:NAME`, `unit:NAME` or `*`.
  package var name: String

  package init(name: String) { self.name = name }

  package init(from reader: inout FieldReader) throws(WireError) { name = try reader.text() }

  package func append(to buffer: ByteBuffer) { buffer.appendField(name) }
}

package struct ObjectEntry: Equatable, Sendable {
  /// An object, or a pattern of objects from the configuration.
  package var object: String
  /// Empty if the object was not declared.
  package var protocolName: String
  package var delegates: UInt32
  /// The connection that declared it; the bus if the configuration did, or if it was not declared.
  package var connection: ConnectionID

  package init(object: String, protocolName: String, delegates: UInt32, connection: ConnectionID) {
    self.object = object
    self.protocolName = protocolName
    self.delegates = delegates
    self.connection = connection
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    object = try reader.text()
    protocolName = try reader.text()
    delegates = try reader.integer()
    connection = ConnectionID(rawValue: try reader.integer())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(object)
    buffer.appendField(protocolName)
    buffer.append(delegates)
    buffer.append(connection.rawValue)
  }
}

package struct ProtocolEntry: Equatable, Sendable {
  package var name: String
  package var parents: [String]
  /// Counts inherited ones.
  package var members: UInt32
  /// The connection that defined it; the bus if a file did.
  package var connection: ConnectionID
  package var documentation: String

  package init(
    name: String, parents: [String], members: UInt32, connection: ConnectionID, documentation: String
  ) {
    self.name = name
    self.parents = parents
    self.members = members
    self.connection = connection
    self.documentation = documentation
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    name = try reader.text()
    parents = try reader.texts(max: Int(UInt16.max), "parents")
    members = try reader.integer()
    connection = ConnectionID(rawValue: try reader.integer())
    documentation = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(name)
    buffer.appendFields(parents)
    buffer.append(members)
    buffer.append(connection.rawValue)
    buffer.appendField(documentation)
  }
}

/// A method of a protocol, its own or inherited.
package struct MemberEntry: Equatable, Sendable {
  /// The protocol that declares it.
  package var origin: String
  package var kind: MethodKind
  package var isRequired: Bool
  package var name: String
  /// In Varlink's type syntax, with parentheses.
  package var parameters: String
  /// In the same syntax; empty unless the method returns a value.
  package var result: String
  package var documentation: String

  package init(
    origin: String, kind: MethodKind, isRequired: Bool, name: String, parameters: String, result: String,
    documentation: String
  ) {
    self.origin = origin
    self.kind = kind
    self.isRequired = isRequired
    self.name = name
    self.parameters = parameters
    self.result = result
    self.documentation = documentation
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    origin = try reader.text()
    kind = try reader.value()
    isRequired = try reader.flag()
    name = try reader.text()
    parameters = try reader.text()
    result = try reader.text()
    documentation = try reader.text()
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(origin)
    buffer.append(kind.rawValue)
    buffer.append(isRequired)
    buffer.appendField(name)
    buffer.appendField(parameters)
    buffer.appendField(result)
    buffer.appendField(documentation)
  }
}

/// How a method of a protocol is called.
package enum MethodKind: UInt8, Sendable, CaseIterable {
  /// A query, which can be vetoed.
  case should = 0
  /// A notification before something happens.
  case will = 1
  /// A notification after something happened.
  case did = 2
  /// A query for a value.
  case value = 3
}

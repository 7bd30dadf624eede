// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// An object.
package struct ObjectEntry: Equatable, Sendable {
  /// An object, or the configuration's pattern.
  package var object: String
  /// Empty without a declaration.
  package var protocolName: String
  /// Delegates of this object itself.
  package var delegates: UInt32
  /// The declaring connection; 0 for the configuration, or without a declaration.
  package var connection: ConnectionID

  package init(object: String, protocolName: String, delegates: UInt32, connection: ConnectionID) {
    self.object = object
    self.protocolName = protocolName
    self.delegates = delegates
    self.connection = connection
  }

  package init(from reader: inout FieldReader) throws(WireError) {
    try self.init(
      object: reader.text(), protocolName: reader.text(), delegates: reader.integer(),
      connection: ConnectionID(rawValue: reader.integer()))
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(object)
    buffer.appendField(protocolName)
    buffer.append(delegates)
    buffer.append(connection.rawValue)
  }
}

/// A protocol.
package struct ProtocolEntry: Equatable, Sendable {
  package var name: String
  package var parents: [String]
  /// Methods, with inherited ones.
  package var members: UInt32
  /// The defining connection; 0 for a file.
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
    try self.init(
      name: reader.text(), parents: reader.texts(max: Int(UInt16.max), "parents"), members: reader.integer(),
      connection: ConnectionID(rawValue: reader.integer()), documentation: reader.text())
  }

  package func append(to buffer: ByteBuffer) {
    buffer.appendField(name)
    buffer.appendFields(parents)
    buffer.append(members)
    buffer.append(connection.rawValue)
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

/// A method of a protocol.
package struct MemberEntry: Equatable, Sendable {
  /// The protocol that it comes from.
  package var origin: String
  package var kind: MethodKind
  package var isRequired: Bool
  package var name: String
  /// Parameters and result: Varlink's syntax, with parentheses; result empty without a value.
  package var parameters: String
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
    try self.init(
      origin: reader.text(), kind: reader.value(), isRequired: reader.flag(), name: reader.text(),
      parameters: reader.text(), result: reader.text(), documentation: reader.text())
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

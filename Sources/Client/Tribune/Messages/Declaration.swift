// SPDX-License-Identifier: Apache-2.0

/// A declaration of the protocol of an object's delegates, or a definition of protocols.
public final class Declaration: Sendable {
  private let serial: UInt64
  private let connection: Connection

  init(serial: UInt64, connection: Connection) {
    self.serial = serial
    self.connection = connection
  }

  /// Withdraws the declaration. A second call has no effect. Protocols that other objects use stay for these objects.
  ///
  /// Cancelling the task does not stop the call.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``: then the declaration has ended, too.
  public func withdraw() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

public struct ObjectInfo: Hashable, Sendable {
  /// The object; a pattern of objects if the bus's configuration has the declaration.
  public var object: String
  /// The object's protocol; nil if the object was not declared.
  public var protocolName: String?
  /// The number of delegates of the object, without those that are attached for all objects.
  public var delegates: Int
  /// The id of the connection that declared the object, such as `:7`; nil without a declaration by a connection.
  public var connection: String?
}

/// A protocol that the bus knows.
public struct ProtocolInfo: Hashable, Sendable {
  public var name: String
  /// The direct parents.
  public var parents: [String]
  /// The number of messages, including inherited ones.
  public var members: Int
  /// The id of the connection that defined the protocol, such as `:7`; nil if a file defines it.
  public var connection: String?
  /// The documentation in the definition; may be empty.
  public var documentation: String
}

public struct MemberInfo: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A question for permission, which delegates can veto.
    case should
    /// A notification before something happens.
    case will
    /// A notification after something happened.
    case did
    /// A question for a value.
    case value
  }

  /// The protocol that defines the message, which may be a parent.
  public var origin: String
  public var kind: Kind
  /// True if delegates must respond to the message.
  public var isRequired: Bool
  public var name: String
  /// The parameters in userInfo, in Varlink's type syntax, with the parentheses.
  public var parameters: String
  /// The type of the value, in the same syntax; nil unless the kind is ``Kind/value``.
  public var result: String?
  /// The documentation in the definition; may be empty.
  public var documentation: String
}

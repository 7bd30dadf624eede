// SPDX-License-Identifier: Apache-2.0

/// A declaration of the protocol that an object's delegates follow, or a definition of protocols.
public final class Declaration: Sendable {
  private let serial: UInt64
  private let connection: Connection

  init(serial: UInt64, connection: Connection) {
    self.serial = serial
    self.connection = connection
  }

  /// Withdraws the declaration. A second call has no effect. Other objects keep the protocols that they use.
  ///
  /// Cancelling the task does not stop the call.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost`` if the connection and thus the declaration have ended.
  public func withdraw() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

public struct ObjectInfo: Hashable, Sendable {
  /// The object. For an `[Object]` section of the bus's configuration, this can be a pattern of objects.
  public var object: String
  /// The object's protocol; nil if the object was not declared.
  public var protocolName: String?
  /// The number of delegates of this object. Delegates that are attached without an object do not count.
  public var delegates: Int
  /// The id of the connection that declared the object, such as `:7`; nil if no connection declared it.
  public var connection: String?
}

/// A protocol that the bus knows.
public struct ProtocolInfo: Hashable, Sendable {
  public var name: String
  /// The names of the direct parents.
  public var parents: [String]
  /// The number of messages, including inherited ones.
  public var members: Int
  /// The id of the connection that defined the protocol, such as `:7`; nil if a file defines the protocol.
  public var connection: String?
  /// The documentation from the protocol's definition; may be empty.
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

  /// The name of the protocol that defines the message: the requested protocol or one of its ancestors.
  public var origin: String
  public var kind: Kind
  /// True if delegates must respond to the message.
  public var isRequired: Bool
  public var name: String
  /// The parameters that userInfo has, in Varlink's type syntax, including the parentheses.
  public var parameters: String
  /// The type of the value, in Varlink's type syntax; nil unless the kind is ``Kind/value``.
  public var result: String?
  /// The documentation from the protocol's definition; may be empty.
  public var documentation: String
}

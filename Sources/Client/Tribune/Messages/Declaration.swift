// SPDX-License-Identifier: Apache-2.0

/// A declaration of the protocol of an object's delegates, or a definition of protocols.
public final class Declaration: Sendable {
  private let serial: UInt64
  private let connection: Connection

  init(serial: UInt64, connection: Connection) {
    self.serial = serial
    self.connection = connection
  }

  /// Takes it back. Withdrawing twice changes nothing. Protocols that other objects use stay for them.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, which also ends the declaration. Cancelling the task does not
  ///   stop it.
  public func withdraw() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

/// One object, as the bus sees it.
public struct ObjectInfo: Hashable, Sendable {
  /// A pattern of objects if the bus's configuration declares it.
  public var object: String
  /// The protocol of its delegates; nil if it was not declared.
  public var protocolName: String?
  /// The number of its delegates, without those of any object.
  public var delegates: Int
  /// The connection that declared it, `:N`.
  public var connection: String?
}

/// One protocol that the bus knows.
public struct ProtocolInfo: Hashable, Sendable {
  public var name: String
  /// The protocols that it inherits from directly.
  public var parents: [String]
  /// The number of its messages, including inherited ones.
  public var members: Int
  /// The connection that defined it, `:N`; nil for a file.
  public var connection: String?
  /// The documentation in its definition; may be empty.
  public var documentation: String
}

/// One message of a protocol.
public struct MemberInfo: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// It is asked, and can be vetoed.
    case should
    /// Posted before something happens.
    case will
    /// Posted after something happened.
    case did
    /// Asked for a value.
    case value
  }

  /// The protocol that defines it, which may be a parent.
  public var origin: String
  public var kind: Kind
  /// True if delegates must respond to it.
  public var isRequired: Bool
  public var name: String
  /// The parameters in userInfo, in Varlink's type syntax, with the parentheses.
  public var parameters: String
  /// The type of the value, in the same syntax; nil unless the kind is ``Kind/value``.
  public var result: String?
  /// The documentation in its definition; may be empty.
  public var documentation: String
}

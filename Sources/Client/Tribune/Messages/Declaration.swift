// SPDX-License-Identifier: Apache-2.0

/// A declaration of the protocol of an object's delegates, or a definition of protocols.
public final class Declaration: Sendable {
  private let serial: UInt64
  private let connection: Connection

  init(serial: UInt64, connection: Connection) {
    self.serial = serial
    self.connection = connection
  }

  /// Withdraws it; a second call has no effect. Protocols that other objects use stay defined for them.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, which also ends the declaration. Cancelling the task does not
  ///   stop it.
  public func withdraw() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

public struct ObjectInfo: Hashable, Sendable {
  /// A pattern of objects if the bus's configuration declares them.
  public var object: String
  /// The object's protocol; nil if it was not declared.
  public var protocolName: String?
  /// Delegates of the object, without those for any object.
  public var delegates: Int
  /// The declaring connection, such as `:7`; nil if none.
  public var connection: String?
}

/// A protocol that the bus knows.
public struct ProtocolInfo: Hashable, Sendable {
  public var name: String
  /// The direct parents.
  public var parents: [String]
  /// Messages, including inherited ones.
  public var members: Int
  /// Such as `:7`; nil if a file defines it.
  public var connection: String?
  /// May be empty.
  public var documentation: String
}

public struct MemberInfo: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Delegates are asked for permission, and can veto.
    case should
    /// A notification, posted before something happens.
    case will
    /// A notification, posted after something happened.
    case did
    /// Delegates are asked for a value.
    case value
  }

  /// The protocol that defines the message; it may be a parent.
  public var origin: String
  public var kind: Kind
  /// True if delegates must respond to it.
  public var isRequired: Bool
  public var name: String
  /// The fields of userInfo, in Varlink's type syntax, with the parentheses.
  public var parameters: String
  /// The value's type, in the same syntax; nil unless the kind is ``Kind/value``.
  public var result: String?
  /// May be empty.
  public var documentation: String
}

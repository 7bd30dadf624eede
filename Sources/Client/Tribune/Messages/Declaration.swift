// SPDX-License-Identifier: Apache-2.0

/// A declaration of the protocol of an object's delegates, or a definition of protocols.
public final class Declaration: Sendable {
  private let serial: UInt64
  private let connection: Connection

  init(serial: UInt64, connection: Connection) {
    self.serial = serial
    self.connection = connection
  }

  /// Withdrawing twice has no effect. Protocols that other objects use stay for them.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, which also ends the declaration. Cancelling the task does not
  ///   stop it.
  public func withdraw() async throws(TribuneError) { try await connection.link.takeBack(serial) }
}

public struct ObjectInfo: Hashable, Sendable {
  /// A pattern of objects if the bus's configuration declares them.
  public var object: String
  /// Nil if it was not declared.
  public var protocolName: String?
  /// Delegates of the object, without those for any object.
  public var delegates: Int
  /// `:N`.
  public var connection: String?
}

/// A protocol that the bus knows.
public struct ProtocolInfo: Hashable, Sendable {
  public var name: String
  /// The direct parents.
  public var parents: [String]
  /// Including inherited messages.
  public var members: Int
  /// `:N`; nil for a file.
  public var connection: String?
  /// May be empty.
  public var documentation: String
}

public struct MemberInfo: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Asked, and can be vetoed.
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
  /// In userInfo, in Varlink's type syntax, with the parentheses.
  public var parameters: String
  /// In the same syntax; nil unless the kind is ``Kind/value``.
  public var result: String?
  /// May be empty.
  public var documentation: String
}

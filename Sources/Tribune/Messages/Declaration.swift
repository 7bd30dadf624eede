// SPDX-License-Identifier: Apache-2.0

/// That an object's delegates have a protocol, or that protocols are defined.
///
/// It lasts until ``withdraw()`` or until the connection ends, whether or not this object is kept.
public final class Declaration: Sendable {
  let serial: UInt64
  let connection: Connection

  init(serial: UInt64, connection: Connection) {
    self.serial = serial
    self.connection = connection
  }

  /// Takes it back; withdrawing twice changes nothing. Protocols that other objects use stay for them.
  ///
  /// - Throws: ``TribuneError/Code/connectionLost``, by which it has ended, too. Cancelling the task does not
  ///   stop it.
  public func withdraw() async throws(TribuneError) {
    try await connection.link.takeBack(.declaration, serial)
  }
}

/// One object, as the bus sees it.
public struct ObjectInfo: Hashable, Sendable {
  /// The object; or a pattern of objects, if the bus's configuration declares it.
  public var object: String
  /// The protocol of its delegates; nil if it was not declared.
  public var protocolName: String?
  /// The delegates that it has, without those of any object.
  public var delegates: Int
  /// The connection that declared it, `:N`; nil if none did.
  public var connection: String?
}

/// One protocol that the bus knows.
public struct ProtocolInfo: Hashable, Sendable {
  /// What it is called.
  public var name: String
  /// The protocols that it inherits from directly.
  public var parents: [String]
  /// The messages that it has, inherited ones included.
  public var members: Int
  /// The connection that defined it, `:N`; nil if a file did.
  public var connection: String?
  /// What its definition says about it; empty if nothing.
  public var documentation: String
}

/// One message of a protocol.
public struct MemberInfo: Hashable, Sendable {
  /// What is done with it.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// It is asked, and can be vetoed.
    case should
    /// It is posted, before something happens.
    case will
    /// It is posted, after something happened.
    case did
    /// It is asked for a value.
    case value
  }

  /// The protocol that it comes from: another one if it is inherited.
  public var origin: String
  /// What is done with it.
  public var kind: Kind
  /// Whether a delegate has to respond to it.
  public var isRequired: Bool
  /// Its name.
  public var name: String
  /// The parameters in userInfo, in Varlink's type syntax with its parentheses.
  public var parameters: String
  /// The value, likewise; nil unless it is asked for one.
  public var result: String?
  /// What its definition says about it; empty if nothing.
  public var documentation: String
}

// SPDX-License-Identifier: Apache-2.0

import TribuneWire

extension Connection {
  /// Declares the protocol of an object's delegates.
  ///
  /// Delegates that attach to the object after the declaration must conform to the protocol. Delegates that
  /// attached before the declaration stay attached. If the protocol does not define the name of a query or
  /// notification about the object, the bus refuses this message. The declaration lasts until
  /// ``Declaration/withdraw()`` or the end of the connection, even if the program releases the `Declaration`.
  ///
  /// - Parameters:
  ///   - object: the object, which must not be empty.
  ///   - protocolName: the name of a protocol that the bus knows or that `definitions` defines.
  ///   - definitions: definitions of protocols in the language of `.protocol` files; may be empty. The
  ///     definitions last as long as the declaration.
  /// - Throws: `invalidObject`, also when the object is empty; `unknownProtocol`; `invalidProtocol` when the
  ///   definitions have mistakes; `conflict` when the object is already declared with another protocol, or
  ///   when a protocol of the same name has another definition; `payloadTooLong`, `limitExceeded`.
  @discardableResult
  public func declare(
    _ object: String, as protocolName: String, definitions: String = ""
  ) async throws(TribuneError) -> Declaration {
    let object = try Checked.object(object)
    guard !object.isEmpty else { throw TribuneError(.invalidObject, "a declaration needs an object") }
    try Checked.protocolName(protocolName)
    return try await register(Declare(protocolName: protocolName), object, definitions)
  }

  /// Defines protocols without declaring an object.
  ///
  /// The definitions last until ``Declaration/withdraw()`` or the end of the connection. After that, the bus
  /// keeps each definition as long as a declared object uses its protocol.
  ///
  /// - Parameter source: protocols in the language of `.protocol` files.
  /// - Throws: `invalidProtocol`, `unknownProtocol`, `conflict`, `payloadTooLong`, `limitExceeded`.
  @discardableResult
  public func define(_ source: String) async throws(TribuneError) -> Declaration {
    guard !source.isEmpty else { throw TribuneError(.invalidProtocol, "the definitions are empty") }
    return try await register(Declare(protocolName: ""), "", source)
  }

  private func register(
    _ fields: Declare, _ object: String, _ definitions: String
  ) async throws(TribuneError) -> Declaration {
    let message = Link.Message(object: object, payload: Array(definitions.utf8))
    let serial = try await link.register(fields, message, as: .declaration)
    return Declaration(serial: serial, connection: self)
  }
}

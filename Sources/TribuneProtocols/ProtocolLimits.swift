// SPDX-License-Identifier: Apache-2.0

/// Bounds on what one definition can have. Nobody who writes a protocol by hand comes near them; they keep
/// what a peer defines small, and the time that linking it takes.
package enum ProtocolLimits {
  /// Bytes in the name of a protocol, a type, a field or an enum's value.
  package static let nameLength = 255
  /// Bytes in the documentation of a protocol or a method.
  package static let documentationLength = 4_096
  /// Bytes of a method's parameters or of its result, as text.
  package static let signatureLength = 8_192
  /// How deep types lie in each other.
  package static let typeDepth = 32
  /// Fields of a struct, values of an enum.
  package static let fieldsPerType = 128
  /// With a name; its own and inherited ones, as with methods.
  package static let typesPerProtocol = 128
  package static let methodsPerProtocol = 512
  package static let parentsPerProtocol = 16
  package static let ancestorsPerProtocol = 64
  package static let protocolsPerSource = 64
  /// Mistakes that are told of one source.
  package static let diagnosticsPerSource = 100
}

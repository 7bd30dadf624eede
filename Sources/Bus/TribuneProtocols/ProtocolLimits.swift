// SPDX-License-Identifier: Apache-2.0

/// Bound the size and the linking time of definitions.
package enum ProtocolLimits {
  /// In bytes.
  package static let nameLength = 255
  /// In bytes.
  package static let documentationLength = 4_096
  /// Bytes of a method's parameters or of its result.
  package static let signatureLength = 8_192
  package static let typeDepth = 32
  /// Fields of a struct, values of an enum.
  package static let fieldsPerType = 128
  /// Types and methods, including inherited ones.
  package static let typesPerProtocol = 128
  package static let methodsPerProtocol = 512
  package static let parentsPerProtocol = 16
  package static let ancestorsPerProtocol = 64
  package static let protocolsPerSource = 64
  package static let diagnosticsPerSource = 100
}

// SPDX-License-Identifier: Apache-2.0

/// Limits for the size of definitions. They also bound the time that linking takes.
package enum ProtocolLimits {
  /// The length in bytes of each name.
  package static let nameLength = 255
  /// The length in bytes of each comment.
  package static let documentationLength = 4_096
  /// The length in bytes of a method's parameters. The result has the same limit.
  package static let signatureLength = 8_192
  package static let typeDepth = 32
  /// The number of fields in a struct, and of values in an enum.
  package static let fieldsPerType = 128
  /// Includes inherited types.
  package static let typesPerProtocol = 128
  /// Includes inherited methods.
  package static let methodsPerProtocol = 512
  package static let parentsPerProtocol = 16
  package static let ancestorsPerProtocol = 64
  package static let protocolsPerSource = 64
  package static let diagnosticsPerSource = 100
}

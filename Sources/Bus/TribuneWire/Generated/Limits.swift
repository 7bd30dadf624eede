// SPDX-License-Identifier: Apache-2.0
//
// Made by "make wire" from docs/tribune.wire. Change that instead.

/// Limits that the frame's layout or docs/PROTOCOL.md fixes for everyone. The daemon's configuration has the
/// adjustable limits; `Welcome` announces those.
package enum WireLimits {
  /// Bytes in a name or a pattern.
  package static let nameLength = 255
  /// Bytes in an object.
  package static let objectLength = 255
  /// Bytes of fields in one frame that the bus accepts.
  package static let fieldsLength = 65_536
  /// Groups of a subject: its primary one and 65,536 supplementary ones.
  package static let groups = 65_537
  /// Bytes in a label.
  package static let labelLength = 255
  /// Bytes in a reason or status. The bus cuts longer ones at a character's boundary.
  package static let reasonLength = 4096
  /// Name patterns in one `attach`.
  package static let patternsPerDelegate = 128
  /// Patterns of the replacement delegate that an `ended` lists.
  package static let patternsOfReplacement = 16
  /// Protocols in one `attach`.
  package static let protocolsPerDelegate = 32
  /// Bytes in the name of a protocol.
  package static let protocolNameLength = 255
  /// Bytes of protocol definitions in one `declare`.
  package static let definitionLength = 65_536
  /// Bytes of payload that every bus accepts, whatever its settings.
  package static let payloadLengthFloor = 65_536
  /// The smallest userInfo that may be sent as a memfd, in bytes.
  package static let descriptorPayloadLength = 65_536
  /// The largest payload limit that can be configured, in bytes.
  package static let payloadLengthCeiling = 1_073_741_824
}

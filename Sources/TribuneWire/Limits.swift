// SPDX-License-Identifier: Apache-2.0

/// Bounds that the frame's layout or docs/PROTOCOL.md fixes for everyone. Those that an operator may
/// set are in the daemon's configuration and announced in `Welcome`.
package enum WireLimits {
  /// Bytes in a name or a pattern.
  package static let nameLength = 255
  /// Bytes in an object.
  package static let objectLength = 255
  /// Bytes of fields in one frame that the bus accepts.
  package static let fieldsLength = 65_536
  /// Bytes in a label.
  package static let labelLength = 255
  /// Bytes in a reason or a status; the bus cuts what is longer at a character's boundary.
  package static let reasonLength = 4_096
  /// Name patterns in one `attach`.
  package static let patternsPerDelegate = 128
  /// Name patterns that an `ended` names of the delegate that replaced another.
  package static let patternsOfHeir = 16
  /// Protocols that one `attach` conforms to.
  package static let protocolsPerDelegate = 32
  /// Bytes in the name of a protocol.
  package static let protocolNameLength = 255
  /// Bytes in which one `declare` defines protocols.
  package static let definitionLength = 65_536
  /// Nanoseconds on the monotonic clock at which a hold can expire at the latest: the last moment that the clock can show.
  package static let expiry = UInt64(Int64.max)
  /// Bytes of payload that any bus accepts, whatever its settings.
  package static let payloadLengthFloor = 65_536
  /// Bytes of userInfo from which on it may travel as a memfd.
  package static let descriptorPayloadLength = 65_536
  /// Bytes of payload that a bus can be set to accept at most.
  package static let payloadLengthCeiling = 1 << 30
}

// SPDX-License-Identifier: Apache-2.0

/// The first 16 bytes that each side sends.
///
///     0   8   magic, F1 "TRIBUNE"
///     8   2   version: the client's highest, or the one that the bus chose for this connection
///     10  2   minimum: the sender's lowest version
///     12  4   capabilities
///
/// Text protocols do not begin with the byte F1, so the bus detects a foreign client at the first byte.
package struct Hello: Equatable, Sendable {
  package static let length = 16
  package static let magic: UInt64 = 0x454E_5542_4952_54F1
  package static let currentVersion: UInt16 = 1

  package var version: UInt16
  package var minimumVersion: UInt16
  package var capabilities: Capabilities

  /// Optional features of the sender. The receiver ignores unknown bits.
  package struct Capabilities: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The sender accepts userInfo as a sealed memfd.
    package static let descriptors = Capabilities(rawValue: 1)
    /// The sender wants `PosterFacts` about the posters of notifications.
    package static let posters = Capabilities(rawValue: 2)
  }

  package init(
    version: UInt16 = currentVersion, minimumVersion: UInt16 = currentVersion,
    capabilities: Capabilities = []
  ) {
    self.version = version
    self.minimumVersion = minimumVersion
    self.capabilities = capabilities
  }

  /// Returns nil while bytes are missing. Throws `badMagic` if the bytes so far differ from the magic number.
  package init?(_ bytes: RawSpan) throws(WireError) {
    for offset in 0..<min(bytes.byteCount, 8) {
      let expected = UInt8(truncatingIfNeeded: Self.magic >> (8 * UInt64(offset)))
      guard bytes.integer(at: offset, as: UInt8.self) == expected else {
        throw WireError(.badMagic, "the first bytes are not a Tribune hello")
      }
    }
    guard bytes.byteCount >= Self.length else { return nil }
    version = bytes.integer(at: 8, as: UInt16.self)
    minimumVersion = bytes.integer(at: 10, as: UInt16.self)
    capabilities = Capabilities(rawValue: bytes.integer(at: 12, as: UInt32.self))
  }

  package func negotiated() throws(WireError) -> UInt16 {
    guard minimumVersion <= Self.currentVersion, version >= Self.currentVersion else {
      throw WireError(
        .unsupportedVersion,
        "the peer speaks versions \(minimumVersion) to \(version), this side speaks \(Self.currentVersion)")
    }
    return Self.currentVersion
  }

  package func append(to buffer: ByteBuffer) {
    buffer.append(Self.magic)
    buffer.append(version)
    buffer.append(minimumVersion)
    buffer.append(capabilities.rawValue)
  }
}

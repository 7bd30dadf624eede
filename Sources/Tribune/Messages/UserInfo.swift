// SPDX-License-Identifier: Apache-2.0

/// The payload of a message: opaque bytes to the bus, JSON text by convention.
///
/// A bus accepts 64 KiB in any case and 16 MiB by default (``BusInfo/payloadMax``).
public struct UserInfo: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// No payload.
  public static let none = UserInfo([])

  /// The payload as it travels.
  public var bytes: [UInt8]

  /// The text's UTF-8.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// The bytes as they are.
  public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// The literal's UTF-8.
  public init(stringLiteral text: String) { self.init(text) }

  /// The payload as text; nil if it is not UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// Whether there is no payload.
  public var isEmpty: Bool { bytes.isEmpty }

  /// The payload as text, with what is not UTF-8 replaced.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}

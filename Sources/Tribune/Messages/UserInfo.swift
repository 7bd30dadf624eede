// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The payload of a message: opaque bytes to the bus, JSON text by convention.
///
/// A bus accepts 64 KiB in any case and 16 MiB by default (``BusInfo/payloadMax``). From 64 KiB on, what comes from
/// another process is not copied: it lies in memory that the processes share and that nobody can change.
public struct UserInfo: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  private enum Storage: Sendable {
    case own([UInt8])
    case mapped(MappedBytes)
  }

  /// No payload.
  public static let none = UserInfo([])

  private var storage: Storage

  /// The text's UTF-8.
  public init(_ text: String) { storage = .own(Array(text.utf8)) }

  /// The bytes as they are, which are not copied.
  public init(_ bytes: [UInt8]) { storage = .own(bytes) }

  /// The bytes as they are.
  public init(_ bytes: some Sequence<UInt8>) { storage = .own(Array(bytes)) }

  /// The literal's UTF-8.
  public init(stringLiteral text: String) { self.init(text) }

  init(mapped: MappedBytes) { storage = .mapped(mapped) }

  /// The payload as it travels; a copy, where it lies in shared memory, which ``withBytes(_:)`` saves.
  public var bytes: [UInt8] {
    get {
      switch storage {
      case .own(let bytes): bytes
      case .mapped(let mapped): [UInt8](mapped.bytes)
      }
    }
    set { storage = .own(newValue) }
  }

  /// Lets `body` read the payload where it lies.
  public func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch storage {
    case .own(let bytes): try body(bytes.rawBytes)
    case .mapped(let mapped): try body(mapped.bytes)
    }
  }

  /// Bytes of payload.
  public var count: Int {
    switch storage {
    case .own(let bytes): bytes.count
    case .mapped(let mapped): mapped.count
    }
  }

  /// The payload as text; nil if it is not UTF-8.
  public var text: String? {
    withBytes { bytes in
      unsafe bytes.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    }
  }

  /// Whether there is no payload.
  public var isEmpty: Bool { count == 0 }

  /// The payload as text, with what is not UTF-8 replaced.
  public var description: String { withBytes { String(repairing: $0) } }

  /// Whether both hold the same bytes, wherever they lie.
  public static func == (one: UserInfo, other: UserInfo) -> Bool {
    one.withBytes { bytes in other.withBytes { bytes.isEqual(to: $0) } }
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
  }
}

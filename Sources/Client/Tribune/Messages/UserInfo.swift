// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneWire

/// The payload of a message. By convention, the payload is JSON text. The bus accepts any bytes.
///
/// The bus's limit is at least 64 KiB, and by default 16 MiB (``BusInfo/payloadMax``). A notification's
/// payload of 64 KiB or more can come in shared memory, which the sender can no longer change and the library
/// does not copy.
public struct UserInfo: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  private enum Storage: Sendable {
    case own([UInt8])
    case mapped(MappedBytes)
  }

  public static let none = UserInfo([])

  private var storage: Storage

  /// Makes a payload of the text's UTF-8.
  public init(_ text: String) { storage = .own(Array(text.utf8)) }

  /// Makes a payload without copying the bytes.
  public init(_ bytes: [UInt8]) { storage = .own(bytes) }

  public init(_ bytes: some Sequence<UInt8>) { storage = .own(Array(bytes)) }

  public init(stringLiteral text: String) { self.init(text) }

  init(mapped: MappedBytes) { storage = .mapped(mapped) }

  /// The bytes. If the payload is in shared memory, this property copies it; ``withBytes(_:)`` does not.
  public var bytes: [UInt8] {
    get {
      switch storage {
      case .own(let bytes): bytes
      case .mapped(let mapped): [UInt8](mapped.bytes)
      }
    }
    set { storage = .own(newValue) }
  }

  /// Lets `body` read the payload in place.
  public func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch storage {
    case .own(let bytes): try body(bytes.rawBytes)
    case .mapped(let mapped): try body(mapped.bytes)
    }
  }

  /// The length in bytes.
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

  public var isEmpty: Bool { count == 0 }

  /// The payload as text, with invalid UTF-8 replaced.
  public var description: String { withBytes { String(repairing: $0) } }

  public static func == (one: UserInfo, other: UserInfo) -> Bool {
    one.withBytes { bytes in other.withBytes { bytes.isEqual(to: $0) } }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
  }
}

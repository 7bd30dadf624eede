// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// The name and the object of a retained notification, as a key of a bucket: `NAME./OBJECT`.
///
/// No token of a name begins with a slash, so the key says where the name ends. Bytes of the object that a key cannot have
/// are `=XX`.
nonisolated package struct RetainedKey: Hashable, Sendable {
  package let name: String
  package let object: String

  private static let digits = Array("0123456789ABCDEF".utf8)

  package init(name: String, object: String) {
    self.name = name
    self.object = object
  }

  /// - Parameter text: of a key that anybody may have written.
  /// - Returns: nil if it is none of these keys.
  package init?(_ text: Substring) {
    guard let slash = text.firstIndex(of: "/"), slash > text.startIndex,
      text[text.index(before: slash)] == "."
    else { return nil }
    name = String(text[..<text.index(before: slash)])
    guard NameSyntax.isName(name.utf8Bytes), !NameSyntax.isReserved(name.utf8Bytes),
      let object = Self.unescape(text[text.index(after: slash)...]), NameSyntax.isObject(object.utf8Bytes)
    else { return nil }
    self.object = object
  }

  package var text: String {
    var bytes: [UInt8] = []
    for byte in object.utf8 {
      if Self.isPlain(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "="), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
      }
    }
    return "\(name)./\(String(decoding: bytes, as: UTF8.self))"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "/"):
      true
    default: false
    }
  }

  private static func unescape(_ text: Substring) -> String? {
    guard text.utf8.count <= 3 * WireLimits.objectLength else { return nil }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "=") {
        guard let high = rest.popFirst().flatMap(digits.firstIndex(of:)),
          let low = rest.popFirst().flatMap(digits.firstIndex(of:))
        else { return nil }
        bytes.append(UInt8(high << 4 | low))
      } else {
        guard isPlain(byte) else { return nil }
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

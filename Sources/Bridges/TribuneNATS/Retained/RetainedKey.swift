// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// A key of the bucket: `NAME./OBJECT`. The key is unambiguous, because a name contains no slash: the name
/// ends at the first `./`. `=XX`, with two hexadecimal digits, stands for a byte of the object that is not an
/// ASCII letter, an ASCII digit, `_`, `-` or `/`.
nonisolated struct RetainedKey: Hashable, Sendable {
  let name: String
  let object: String

  private static let form = ByteEscape(mark: "=") { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "/"):
      true
    default: false
    }
  }

  init(name: String, object: String) {
    self.name = name
    self.object = object
  }

  /// Nil if the text has another form. Any NATS client can write such keys.
  init?(_ text: Substring) {
    guard let slash = text.firstIndex(of: "/"), slash > text.startIndex,
      text[text.index(before: slash)] == "."
    else { return nil }
    name = String(text[..<text.index(before: slash)])
    guard NameSyntax.isName(name.utf8Bytes), !NameSyntax.isReserved(name.utf8Bytes),
      let object = Self.form.unescape(
        text[text.index(after: slash)...], lengthMax: WireLimits.objectLength),
      NameSyntax.isObject(object.utf8Bytes)
    else { return nil }
    self.object = object
  }

  var text: String { "\(name)./\(Self.form.escape(object))" }
}

// SPDX-License-Identifier: Apache-2.0

/// A text that is compared byte by byte. For `String`, `ü` as one scalar equals `ü` as two scalars. As
/// objects or file names, these two texts differ.
package struct ExactText: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (one: ExactText, other: ExactText) -> Bool {
    one.text.utf8Bytes.isEqual(to: other.text.utf8Bytes)
  }

  package func hash(into hasher: inout Hasher) {
    let bytes = text.utf8Bytes
    hasher.combine(bytes.byteCount)
    var offset = 0
    while offset + 8 <= bytes.byteCount {
      hasher.combine(bytes.integer(at: offset, as: UInt64.self))
      offset += 8
    }
    while offset < bytes.byteCount {
      hasher.combine(bytes.integer(at: offset, as: UInt8.self))
      offset += 1
    }
  }
}

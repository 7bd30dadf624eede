// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

/// JSON as somebody wrote it.
///
/// It is checked, and then kept as text: numbers longer than any type of ours stay what they are.
package struct JSONText: Equatable, Sendable {
  /// Why bytes are not JSON, and where.
  package struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var reason: String

    package init(line: Int, column: Int, reason: String) {
      self.line = line
      self.column = column
      self.reason = reason
    }

    package var description: String { "line \(line), column \(column): \(reason)" }
  }

  /// UTF-8.
  package let bytes: [UInt8]

  /// Takes any JSON value, an object or another.
  package init(_ bytes: [UInt8]) throws(SyntaxError) {
    guard !bytes.isEmpty else { throw SyntaxError(line: 1, column: 0, reason: "there is nothing") }
    // A number too long for 64 bits is still JSON, and so is a string with a zero in it.
    let flags = JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL
    let value: UnsafeMutablePointer<json_t>
    do throws(Failure) {
      unsafe value = try Self.load(bytes.rawBytes, flags)
    } catch {
      throw error.error
    }
    unsafe json_decref(value)
    self.bytes = bytes
  }

  /// The same value without the spaces between its parts, and with what could act on a terminal escaped.
  package var compact: String {
    var formatter = JSONFormatter(bytes: bytes, indent: nil)
    return formatter.run()
  }
}

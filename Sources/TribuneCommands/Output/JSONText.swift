// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

/// JSON as somebody wrote it.
///
/// It is checked, and then kept as text: numbers longer than any type of ours stay what they are.
struct JSONText: Equatable, Sendable {
  /// Why bytes are not JSON, and where.
  struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    var line: Int
    var column: Int
    var reason: String

    var description: String { "line \(line), column \(column): \(reason)" }
  }

  /// UTF-8.
  let bytes: [UInt8]

  /// Takes any JSON value, an object or another.
  init(_ bytes: [UInt8]) throws(SyntaxError) {
    guard !bytes.isEmpty else { throw SyntaxError(line: 1, column: 0, reason: "there is nothing") }
    var error = json_error_t()
    // A number too long for 64 bits is still JSON, and so is a string with a zero in it.
    let flags = Int(JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL)
    let parsed = unsafe bytes.withUnsafeBytes { bytes in
      unsafe json_loadb(bytes.baseAddress, bytes.count, flags, &error)
    }
    guard let value = unsafe parsed else {
      let reason = unsafe withUnsafeBytes(of: error.text) { text in
        unsafe String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
      }
      throw SyntaxError(line: Int(error.line), column: Int(error.column), reason: reason.escaped)
    }
    unsafe json_decref(value)
    self.bytes = bytes
  }

  /// The same value without the spaces between its parts, and with what could act on a terminal escaped.
  var compact: String {
    var formatter = JSONFormatter(bytes: bytes, indent: nil)
    return formatter.run()
  }

}

// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

/// Valid JSON, stored as text because its numbers may exceed Swift's types.
package struct JSONText: Equatable, Sendable {
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

  package let bytes: [UInt8]

  /// Accepts any JSON value, not only objects.
  package init(_ bytes: [UInt8]) throws(SyntaxError) {
    if bytes.isPlainScalar {
      self.bytes = bytes
      return
    }
    // These flags accept any JSON value, numbers beyond 64 bits, and `\u0000` in strings.
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

  /// Throws if `JSONDocument` refuses the text, for example because the text exceeds a limit.
  package init(bounded bytes: [UInt8]) throws(SyntaxError) {
    _ = try JSONDocument(bytes.rawBytes)
    self.bytes = bytes
  }

  /// The text without white space between values. Characters that could act on a terminal are escaped.
  package var compact: String {
    String(decoding: JSONFormatter.format(bytes, isPretty: false), as: UTF8.self)
  }
}

extension JSONText {
  struct Failure: Error {
    let error: SyntaxError
    /// True if jansson stopped at a number that is too large for an `Int64` or a `Double`.
    let isOverflow: Bool
  }

  /// - Returns: a value that the caller must release by `json_decref`.
  static func load(_ bytes: RawSpan, _ flags: Int32) throws(Failure) -> UnsafeMutablePointer<json_t> {
    guard bytes.byteCount > 0 else {
      throw Failure(error: SyntaxError(line: 1, column: 0, reason: "the text is empty"), isOverflow: false)
    }
    // Valid JSON has no zero byte. jansson does not report one after a number or a word such as `true`.
    if let zero = unsafe bytes.withUnsafeBytes({ unsafe $0.firstIndex(of: 0) }) {
      throw Failure(
        error: SyntaxError(line: 1, column: 0, reason: "byte \(zero + 1) is zero"), isOverflow: false)
    }
    var error = json_error_t()
    let parsed = unsafe bytes.withUnsafeBytes { bytes in
      unsafe json_loadb(bytes.baseAddress, bytes.count, Int(flags), &error)
    }
    if let parsed = unsafe parsed { return unsafe parsed }
    let reason = unsafe withUnsafeBytes(of: error.text) { text in
      unsafe String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }
    let isOverflow = unsafe json_error_code(&error) == json_error_numeric_overflow
    throw Failure(
      error: SyntaxError(line: Int(error.line), column: Int(error.column), reason: reason.escaped),
      isOverflow: isOverflow)
  }
}

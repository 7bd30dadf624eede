// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

/// Validated JSON, kept as text to preserve numbers beyond Swift's types.
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

  /// Any JSON value, not only objects.
  package init(_ bytes: [UInt8]) throws(SyntaxError) {
    // These flags accept numbers beyond 64 bits, and zero characters in strings.
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

  /// Applies the limits of `JSONDocument`.
  package init(bounded bytes: [UInt8]) throws(SyntaxError) {
    _ = try JSONDocument(bytes.rawBytes)
    self.bytes = bytes
  }

  /// Escapes characters that could act on a terminal.
  package var compact: String {
    String(decoding: JSONFormatter.format(bytes, isPretty: false), as: UTF8.self)
  }
}

extension JSONText {
  struct Failure: Error {
    let error: SyntaxError
    /// The only error is a number out of range.
    let isOverflow: Bool
  }

  /// - Returns: owned by the caller.
  static func load(_ bytes: RawSpan, _ flags: Int32) throws(Failure) -> UnsafeMutablePointer<json_t> {
    guard bytes.byteCount > 0 else {
      throw Failure(error: SyntaxError(line: 1, column: 0, reason: "the text is empty"), isOverflow: false)
    }
    // JSON has no zero byte. jansson overlooks one that ends a number or a word.
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

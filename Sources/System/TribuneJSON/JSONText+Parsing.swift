// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

extension JSONText {
  struct Failure: Error {
    let error: SyntaxError
    /// Whether the only flaw is a number that does not fit.
    let isOverflow: Bool
  }

  /// - Returns: the value, which the caller owns.
  static func load(_ bytes: RawSpan, _ flags: Int32) throws(Failure) -> UnsafeMutablePointer<json_t> {
    guard bytes.byteCount > 0 else {
      throw Failure(error: SyntaxError(line: 1, column: 0, reason: "the text is empty"), isOverflow: false)
    }
    // No JSON has a zero byte. jansson overlooks one that ends a number or a word.
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

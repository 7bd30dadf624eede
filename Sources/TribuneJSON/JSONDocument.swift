// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

/// JSON as a tree that can be looked at.
///
/// How long and how deep it can be has a bound, so that nobody's message keeps the reader busy; and no
/// object has two members of one name, of which one reader would take the first and another the last.
@safe package final class JSONDocument {
  /// Bytes that a text can have.
  package static let lengthMax = 1 << 20

  /// What the whole text is. It holds, as all that is reached from it, as long as the document does.
  fileprivate let value: UnsafeMutablePointer<json_t>

  /// - Throws: what is wrong, and where; also when the text is longer than `lengthMax`, or deeper than
  ///   jansson's 2048.
  package init(_ bytes: RawSpan) throws(JSONText.SyntaxError) {
    guard bytes.byteCount <= Self.lengthMax else {
      throw JSONText.SyntaxError(line: 1, column: 0, reason: "it is longer than \(Self.lengthMax >> 20) MiB")
    }
    let flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL
    do throws(JSONText.Failure) {
      unsafe value = try JSONText.load(bytes, flags)
    } catch {
      guard error.isOverflow else { throw error.error }
      // Some number does not fit 64 bits, which is no fault unless that is what was asked for. Then all
      // are read as fractions: those of more than 53 bits lose their last digits, and stay as big as they are.
      do throws(JSONText.Failure) {
        unsafe value = try JSONText.load(bytes, flags | JSON_DECODE_INT_AS_REAL)
      } catch {
        throw error.error
      }
    }
  }

  deinit { unsafe json_decref(value) }

  package var root: JSONNode { unsafe JSONNode(value, of: self) }
}

/// One value in a document, which it keeps alive.
@safe package struct JSONNode {
  package enum Kind: Sendable {
    case null, bool, number, string, array, object
  }

  private let document: JSONDocument
  private let value: UnsafeMutablePointer<json_t>

  /// - Parameter value: one of the document's, which does not change.
  fileprivate init(_ value: UnsafeMutablePointer<json_t>, of document: JSONDocument) {
    unsafe self.value = value
    self.document = document
  }

  package var kind: Kind {
    switch unsafe value.pointee.type {
    case JSON_OBJECT: .object
    case JSON_ARRAY: .array
    case JSON_STRING: .string
    case JSON_INTEGER, JSON_REAL: .number
    case JSON_TRUE, JSON_FALSE: .bool
    default: .null
    }
  }

  /// Whether it is a number without a fraction that 64 bits with a sign can hold, however it is written: `1.0`
  /// and `1e3` are.
  package var isInteger: Bool {
    switch unsafe value.pointee.type {
    case JSON_INTEGER: return true
    case JSON_REAL:
      let number = unsafe json_real_value(value)
      // At the ends of the range a fraction's 53 bits do not tell what fits from what does not.
      return number.rounded(.towardZero) == number && number.magnitude < 0x1p63
    default: return false
    }
  }

  /// Whether it is a number with a fraction.
  package var hasFraction: Bool {
    guard unsafe value.pointee.type == JSON_REAL else { return false }
    let number = unsafe json_real_value(value)
    return number.rounded(.towardZero) != number
  }

  /// The text of a string; nil for anything else.
  package var string: String? {
    guard kind == .string, let start = unsafe json_string_value(value) else { return nil }
    return String(
      repairing: unsafe RawSpan(_unsafeStart: start, byteCount: json_string_length(value)))
  }

  /// Whether it is a string of just this text.
  package func isString(_ text: String) -> Bool {
    guard kind == .string, let start = unsafe json_string_value(value) else { return false }
    let bytes = unsafe RawSpan(_unsafeStart: start, byteCount: json_string_length(value))
    return bytes.isEqual(to: text.utf8Bytes)
  }

  /// How many elements an array, or members an object has; 0 for anything else.
  package var count: Int {
    switch kind {
    case .array: unsafe json_array_size(value)
    case .object: unsafe json_object_size(value)
    default: 0
    }
  }

  /// The element at an index of an array; nil where there is none.
  package subscript(index: Int) -> JSONNode? {
    guard index >= 0, let element = unsafe json_array_get(value, index) else { return nil }
    return unsafe JSONNode(element, of: document)
  }

  /// The member of an object that has the name; nil where there is none.
  package subscript(name: String) -> JSONNode? {
    let bytes = name.utf8Bytes
    let member = unsafe bytes.withUnsafeBytes { bytes in
      unsafe json_object_getn(value, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard let member = unsafe member else { return nil }
    return unsafe JSONNode(member, of: document)
  }

  /// The members of an object, in the order in which they were written.
  package var members: Members { unsafe Members(document: document, object: value) }

  @safe package struct Members: Sequence, IteratorProtocol {
    private let document: JSONDocument
    private let object: UnsafeMutablePointer<json_t>
    private var position: UnsafeMutableRawPointer?

    fileprivate init(document: JSONDocument, object: UnsafeMutablePointer<json_t>) {
      self.document = document
      unsafe self.object = object
      unsafe position = json_object_iter(object)
    }

    package mutating func next() -> (name: String, value: JSONNode)? {
      guard let here = unsafe position, let key = unsafe json_object_iter_key(here),
        let value = unsafe json_object_iter_value(here)
      else { return nil }
      let name = unsafe RawSpan(_unsafeStart: key, byteCount: json_object_iter_key_len(here))
      unsafe position = json_object_iter_next(object, here)
      return (String(repairing: name), unsafe JSONNode(value, of: document))
    }
  }
}

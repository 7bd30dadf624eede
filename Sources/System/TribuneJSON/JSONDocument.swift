// SPDX-License-Identifier: Apache-2.0

import CJansson
import TribuneWire

/// A parsed JSON text. Limits bound the time for parsing a peer's message. Duplicate member names are errors,
/// because JSON parsers differ in which duplicate they use.
@safe package final class JSONDocument {
  /// The largest length of a text, in bytes.
  package static let lengthMax = 1 << 20

  /// The largest number of commas and opening brackets outside strings. This limit bounds the number of
  /// values. Parsing a value takes up to 150 ns, and parsing an object's member up to 450 ns. `lengthMax`
  /// alone would allow 500,000 values.
  package static let separatorsMax = 16_384

  fileprivate let value: UnsafeMutablePointer<json_t>

  /// Throws if the JSON is invalid, or exceeds `lengthMax`, `separatorsMax` or jansson's maximum depth, 2048.
  package init(_ bytes: RawSpan) throws(JSONText.SyntaxError) {
    guard bytes.byteCount <= Self.lengthMax else {
      throw JSONText.SyntaxError(
        line: 1, column: 0, reason: "the text is longer than \(Self.lengthMax >> 20) MiB")
    }
    guard Self.separatorCount(of: bytes) <= Self.separatorsMax else {
      throw JSONText.SyntaxError(
        line: 1, column: 0, reason: "the text has more than \(Self.separatorsMax) commas and opening brackets"
      )
    }
    let flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL
    do throws(JSONText.Failure) {
      unsafe value = try JSONText.load(bytes, flags)
    } catch {
      guard error.isOverflow else { throw error.error }
      // A number exceeds 64 bits. This retry reads all numbers as `Double`, and so rounds integers above 53
      // bits.
      do throws(JSONText.Failure) {
        unsafe value = try JSONText.load(bytes, flags | JSON_DECODE_INT_AS_REAL)
      } catch {
        throw error.error
      }
    }
  }

  deinit { unsafe json_decref(value) }

  private static func separatorCount(of bytes: RawSpan) -> Int {
    var count = 0
    var isInString = false
    var isEscaped = false
    for index in 0..<bytes.byteCount {
      switch bytes.integer(at: index, as: UInt8.self) {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\""): isInString.toggle()
      case UInt8(ascii: "\\") where isInString: isEscaped = true
      case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"): if !isInString { count += 1 }
      default: break
      }
    }
    return count
  }

  package var root: JSONNode { unsafe JSONNode(value, of: self) }
}

/// A value in a document. The node keeps the document alive.
@safe package struct JSONNode {
  package enum Kind: Sendable {
    case null, bool, number, string, array, object
  }

  private let document: JSONDocument
  private let value: UnsafeMutablePointer<json_t>

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

  /// True for integers. A number such as `1.0` or `1e3` is an integer if its magnitude is below 2^63.
  package var isInteger: Bool {
    switch unsafe value.pointee.type {
    case JSON_INTEGER: return true
    case JSON_REAL:
      let number = unsafe json_real_value(value)
      // The bound is `Int64.max` + 1, because a `Double` cannot represent `Int64.max`.
      return number.rounded(.towardZero) == number && number.magnitude < 0x1p63
    default: return false
    }
  }

  package var hasFraction: Bool {
    guard unsafe value.pointee.type == JSON_REAL else { return false }
    let number = unsafe json_real_value(value)
    return number.rounded(.towardZero) != number
  }

  package var string: String? {
    guard kind == .string, let start = unsafe json_string_value(value) else { return nil }
    return String(repairing: unsafe RawSpan(_unsafeStart: start, byteCount: json_string_length(value)))
  }

  package var bool: Bool? {
    switch unsafe value.pointee.type {
    case JSON_TRUE: true
    case JSON_FALSE: false
    default: nil
    }
  }

  package var integer: Int? {
    guard isInteger else { return nil }
    if case JSON_INTEGER = unsafe value.pointee.type { return unsafe Int(json_integer_value(value)) }
    return unsafe Int(json_real_value(value))
  }

  /// The number, rounded to 53 bits.
  package var number: Double? { kind == .number ? unsafe json_number_value(value) : nil }

  package var copy: JSONValue {
    switch kind {
    case .null: .null
    case .bool: .bool(bool == true)
    case .number:
      if case JSON_INTEGER = unsafe value.pointee.type {
        .integer(unsafe Int(json_integer_value(value)))
      } else {
        .number(unsafe json_real_value(value))
      }
    case .string: .string(string ?? "")
    case .array: .array((0..<count).compactMap { self[$0]?.copy })
    case .object: .object(members.map { ($0.name, $0.value.copy) })
    }
  }

  package func isString(_ text: String) -> Bool {
    guard kind == .string, let start = unsafe json_string_value(value) else { return false }
    let bytes = unsafe RawSpan(_unsafeStart: start, byteCount: json_string_length(value))
    return bytes.isEqual(to: text.utf8Bytes)
  }

  package var count: Int {
    switch kind {
    case .array: unsafe json_array_size(value)
    case .object: unsafe json_object_size(value)
    default: 0
    }
  }

  package subscript(index: Int) -> JSONNode? {
    guard index >= 0, let element = unsafe json_array_get(value, index) else { return nil }
    return unsafe JSONNode(element, of: document)
  }

  package subscript(name: String) -> JSONNode? {
    let bytes = name.utf8Bytes
    let member = unsafe bytes.withUnsafeBytes { bytes in
      unsafe json_object_getn(value, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard let member = unsafe member else { return nil }
    return unsafe JSONNode(member, of: document)
  }

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

// SPDX-License-Identifier: Apache-2.0

/// A reader for a frame's fields, in order. It checks the length of each field against the remaining bytes.
package struct FieldReader: ~Escapable {
  private let bytes: RawSpan
  private var position = 0

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  package var isAtEnd: Bool { position == bytes.byteCount }

  @_lifetime(self: copy self)
  @inline(__always) package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(
    _ type: T.Type = T.self
  ) throws(WireError) -> T {
    guard bytes.byteCount - position >= MemoryLayout<T>.size else {
      throw WireError(.malformedFrame, "the fields end after \(bytes.byteCount) bytes, in the middle of one")
    }
    defer { position += MemoryLayout<T>.size }
    return bytes.integer(at: position, as: type)
  }

  /// Reads a 16-bit length, then the bytes of a text. Replaces invalid UTF-8 with U+FFFD.
  @_lifetime(self: copy self)
  package mutating func text() throws(WireError) -> String {
    let length = Int(try integer(UInt16.self))
    if length == 0 { return "" }
    guard bytes.byteCount - position >= length else {
      throw WireError(.malformedFrame, "a text of \(length) bytes reaches past the end of the fields")
    }
    defer { position += length }
    return String(repairing: bytes.extracting(position..<position + length))
  }

  @_lifetime(self: copy self)
  package mutating func flag() throws(WireError) -> Bool { try integer(UInt8.self) != 0 }

  /// Reads a 32-bit length, then the bytes.
  @_lifetime(self: copy self)
  package mutating func byteArray() throws(WireError) -> [UInt8] { [UInt8](try run("a run of")) }

  /// Like `byteArray`, but without a copy of the bytes.
  @_lifetime(copy self)
  @_lifetime(self: copy self)
  package mutating func bytesField() throws(WireError) -> RawSpan { try run("a run of") }

  /// Reads a 16-bit count, then the texts.
  @_lifetime(self: copy self)
  package mutating func texts(max: Int, _ what: String) throws(WireError) -> [String] {
    let count = Int(try integer(UInt16.self))
    guard count <= max else { throw WireError(.limitExceeded, "\(count) \(what) exceed the limit of \(max)") }
    var texts: [String] = []
    for _ in 0..<count { texts.append(try text()) }
    return texts
  }

  /// Reads a 32-bit count, then the integers.
  @_lifetime(self: copy self)
  package mutating func integers(max: Int, _ what: String) throws(WireError) -> [UInt32] {
    let count = Int(try integer(UInt32.self))
    guard count <= max else { throw WireError(.limitExceeded, "\(count) \(what) exceed the limit of \(max)") }
    var integers: [UInt32] = []
    for _ in 0..<count { integers.append(try integer()) }
    return integers
  }

  @_lifetime(self: copy self)
  package mutating func value<T: RawRepresentable>(_ type: T.Type = T.self) throws(WireError) -> T
  where T.RawValue == UInt8 {
    let number = try integer(UInt8.self)
    guard let value = T(rawValue: number) else {
      throw WireError(.invalidValue, "a field has the invalid value \(number)")
    }
    return value
  }

  @_lifetime(self: copy self)
  package mutating func options<T: OptionSet>(_ known: T) throws(WireError) -> T where T.RawValue == UInt8 {
    let options = T(rawValue: try integer())
    guard known.isSuperset(of: options) else {
      throw WireError(.invalidValue, "the options \(options.rawValue) contain an unknown bit")
    }
    return options
  }

  /// Reads a 32-bit length, and returns a reader for a record of this length. The caller must ignore bytes
  /// behind the fields that it knows, because a newer peer can append fields.
  @_lifetime(copy self)
  @_lifetime(self: copy self)
  package mutating func record() throws(WireError) -> FieldReader { FieldReader(try run("a record of")) }

  @_lifetime(copy self)
  @_lifetime(self: copy self)
  private mutating func run(_ what: String) throws(WireError) -> RawSpan {
    let length = Int(try integer(UInt32.self))
    guard bytes.byteCount - position >= length else {
      throw WireError(.malformedFrame, "\(what) \(length) bytes reaches past the end of the fields")
    }
    defer { position += length }
    return bytes.extracting(position..<position + length)
  }
}

extension ByteBuffer {
  /// Appends a 16-bit length and the text. Cuts a text over 65,535 bytes between two Unicode scalars.
  package func appendField(_ text: String) {
    if text.isEmpty { return append(UInt16(0)) }
    let bytes = text.utf8Bytes
    guard bytes.byteCount <= UInt16.max else { return appendField(text.prefix(utf8Length: Int(UInt16.max))) }
    append(UInt16(bytes.byteCount))
    append(bytes)
  }

  package func append(_ flag: Bool) { append(UInt8(flag ? 1 : 0)) }

  package func appendFields(_ texts: [String]) {
    append(UInt16(texts.count))
    for text in texts { appendField(text) }
  }

  package func appendFields(_ integers: [UInt32]) {
    append(UInt32(integers.count))
    for integer in integers { append(integer) }
  }

  func append(_ bytes: [UInt8]) { append(bytes.rawBytes) }

  package func appendBytesField(_ bytes: [UInt8]) { appendBytesField(bytes.rawBytes) }

  package func appendBytesField(_ bytes: RawSpan) {
    append(UInt32(bytes.byteCount))
    append(bytes)
  }

  package func appendRecord(_ body: (ByteBuffer) -> Void) {
    let start = count
    append(UInt32(0))
    body(self)
    store(UInt32(count - start - 4), at: start)
  }
}

extension String {
  /// Returns the longest prefix of whole Unicode scalars that has at most `length` bytes of UTF-8.
  package func prefix(utf8Length length: Int) -> String {
    guard utf8.count > length else { return self }
    var end = utf8.index(startIndex, offsetBy: length)
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}

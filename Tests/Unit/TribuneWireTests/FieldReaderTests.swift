// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Fields", .timeLimit(.minutes(15)))
struct FieldReaderTests {
  @Test(
    "A number outside of its enumeration is an invalid value",
    arguments: [
      // A vector, the number's offset in its fields, the first number past the last case.
      ("attach", 4, 2), ("ask", 4, 5), ("ask", 5, 2), ("answer-veto", 16, 5), ("progress", 76, 3),
      ("progress", 77, 8), ("verdict", 8, 2), ("verdict", 82, 8), ("concluded", 16, 3), ("list", 0, 19),
      ("entry-bus", 0, 20), ("entry-delegate", 93, 2), ("entry-member", 24, 4), ("ended-replaced", 0, 3),
      ("post-awaited", 0, 64), ("post-awaited", 1, 3), ("observe-retained", 0, 4),
      ("observe-retained", 1, 4), ("awaited", 40, 3),
    ] as [(String, Int, UInt8)])
  func unknownNumber(file: String, offset: Int, first: UInt8) throws {
    let vector = try #require(FrameVector.all.first { $0.file == file })
    var fields = try vector.fieldBytes()
    for number in [first, first + 1, 0xFF] {
      fields[offset] = number
      #expect(decoding(fields, as: vector.fields) == .invalidValue)
    }
    fields[offset] = first - 1
    #expect(decoding(fields, as: vector.fields) != .invalidValue)
  }

  @Test(
    "An attach has at most 128 patterns and 32 protocols",
    arguments: [
      (128, 32, nil), (129, 0, .limitExceeded), (65_535, 0, .limitExceeded), (1, 33, .limitExceeded),
      (1, 65_535, .limitExceeded),
    ] as [(Int, Int, ErrorCode?)])
  func counts(patterns: Int, protocols: Int, code: ErrorCode?) {
    let attach = Attach(
      patterns: Array(repeating: "a", count: patterns), protocols: Array(repeating: "A", count: protocols))
    let buffer = ByteBuffer { attach.append(to: $0) }
    #expect(decoding(buffer.array, as: Attach(patterns: [])) == code)
  }

  enum Field { case flag, text, texts, bytes, record }

  private func reading(_ field: Field, of bytes: [UInt8]) -> ErrorCode? {
    refusal { () throws(WireError) in
      var reader = FieldReader(bytes.raw)
      switch field {
      case .flag: _ = try reader.flag()
      case .text: _ = try reader.text()
      case .texts: _ = try reader.texts(max: 2, "texts")
      case .bytes: _ = try reader.byteArray()
      case .record: _ = try reader.record().isAtEnd
      }
    }
  }

  @Test(
    "Fields past the end are malformed before any allocation; a count is checked against its limit first",
    arguments: [
      (.flag, [], .malformedFrame), (.flag, [0x00], nil),
      (.texts, [], .malformedFrame), (.texts, [0x01], .malformedFrame), (.texts, [0x00, 0x00], nil),
      (.texts, [0x01, 0x00], .malformedFrame), (.texts, [0x01, 0x00, 0x01, 0x00], .malformedFrame),
      (.texts, [0x01, 0x00, 0x00, 0x00], nil), (.texts, [0x02, 0x00, 0x00, 0x00], .malformedFrame),
      (.texts, [0x02, 0x00, 0x00, 0x00, 0x00, 0x00], nil), (.texts, [0x03, 0x00], .limitExceeded),
      (.texts, [0xFF, 0xFF], .limitExceeded),
      (.bytes, [], .malformedFrame), (.bytes, [0x00, 0x00, 0x00], .malformedFrame),
      (.bytes, [0x00, 0x00, 0x00, 0x00], nil), (.bytes, [0x01, 0x00, 0x00, 0x00], .malformedFrame),
      (.bytes, [0x01, 0x00, 0x00, 0x00, 0xFF], nil),
      (.bytes, [0x02, 0x00, 0x00, 0x00, 0xFF], .malformedFrame),
      (.bytes, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .malformedFrame),
      (.record, [0x01, 0x00, 0x00, 0x00], .malformedFrame),
      (.record, [0x03, 0x00, 0x00, 0x00], .malformedFrame),
      (.record, [0xFF, 0xFF, 0xFF, 0xFF], .malformedFrame),
    ] as [(Field, [UInt8], ErrorCode?)])
  func pastEnd(_ field: Field, _ bytes: [UInt8], _ code: ErrorCode?) {
    #expect(reading(field, of: bytes) == code)
  }

  @Test("Fields are read one after the other as they were written, but a text that is too long is cut")
  func inOrder() throws {
    let buffer = ByteBuffer(capacity: 0)
    buffer.appendFields(["b", "", "ä"])
    buffer.appendBytesField([0x00, 0xFF, 0x80])
    buffer.appendBytesField([])
    buffer.appendField(String(repeating: "ä", count: 40_000))
    buffer.append(UInt8(7))
    var reader = FieldReader(buffer.bytes)
    let texts = try reader.texts(max: 3, "texts")
    let (bytes, none) = (try reader.byteArray(), try reader.byteArray())
    let (text, next, isAtEnd) = (try reader.text(), try reader.integer(UInt8.self), reader.isAtEnd)
    #expect(texts == ["b", "", "ä"] && bytes == [0x00, 0xFF, 0x80] && none.isEmpty)
    #expect(text == String(repeating: "ä", count: 32_767) && next == 7 && isAtEnd)
  }

  @Test("Any number but 0 sets a flag", arguments: [(0, false), (1, true), (2, true), (255, true)])
  func flag(_ byte: UInt8, _ expected: Bool) throws {
    let bytes = [byte]
    var reader = FieldReader(bytes.raw)
    let (flag, isAtEnd) = (try reader.flag(), reader.isAtEnd)
    #expect(flag == expected && isAtEnd)
  }

  @Test("A count that exceeds the bytes is malformed, and nothing is allocated for it")
  func hugeCounts() {
    let empty = Verdict(query: QueryID(rawValue: 1), verdict: .allowed, isUnanswered: true, outcomes: [])
    let buffer = ByteBuffer { empty.append(to: $0) }
    // The last ten bytes: the count, two flags, the number of further outcomes.
    buffer.store(UInt32.max, at: buffer.count - 10)
    #expect(decoding(buffer.array, as: empty) == .malformedFrame)
  }

  @Test("Text that reaches past the end is malformed", arguments: [1, 2, 0x7FFF, 0xFFFF] as [UInt16])
  func textPastEnd(length: UInt16) {
    let buffer = ByteBuffer(capacity: 0)
    buffer.append(length)
    for _ in 1..<length { buffer.append(UInt8(ascii: "a")) }
    #expect(reading(.text, of: buffer.array) == .malformedFrame)
    buffer.append(UInt8(ascii: "a"))
    #expect(reading(.text, of: buffer.array) == nil)
  }

  @Test("A record cannot be read past its own end, even if more follows")
  func recordBounds() throws {
    let buffer = ByteBuffer(capacity: 0)
    buffer.appendRecord { $0.append(UInt16(0x0201)) }
    buffer.append(UInt32(7))
    var reader = FieldReader(buffer.bytes)
    var record = try reader.record()
    let first = try record.integer(UInt8.self)
    #expect(first == 1)
    let code = refusal { () throws(WireError) in
      var rest = FieldReader(buffer.bytes(in: 5..<6))
      _ = try rest.integer(UInt16.self)
    }
    #expect(code == .malformedFrame)
    let (second, isAtEnd) = (try record.integer(UInt8.self), record.isAtEnd)
    #expect(second == 2 && isAtEnd)
    let next = try reader.integer(UInt32.self)
    #expect(next == 7)
    let wholeIsAtEnd = reader.isAtEnd
    #expect(wholeIsAtEnd)
  }

  @Test("A record that is too short for an outcome is malformed, even if more outcomes follow")
  func shortRecord() throws {
    var fields = try #require(FrameVector.all.first { $0.file == "verdict" }).fieldBytes()
    fields[14] -= 1
    #expect(decoding(fields, as: FrameVector.verdict) == .malformedFrame)
  }

  @Test("Fields that a newer bus adds to an outcome are skipped")
  func longRecord() throws {
    var fields = try #require(FrameVector.all.first { $0.file == "verdict" }).fieldBytes()
    // Offset 14 has the length of the first outcome's record, which is below 253.
    fields.insert(contentsOf: [1, 2, 3], at: 18 + Int(fields[14]))
    fields[14] += 3
    var reader = FieldReader(fields.raw)
    let decoded = try Verdict(from: &reader)
    let isAtEnd = reader.isAtEnd
    #expect(decoded == FrameVector.verdict && isAtEnd)
  }

  @Test(
    "Text that is not UTF-8 is repaired, never refused",
    arguments: [
      ([0xFF], "\u{FFFD}"), ([0x61, 0xC3], "a\u{FFFD}"), ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
      ([0x00], "\0"), ([0xF0, 0x9F, 0x8F, 0x9B], "🏛"),
    ] as [([UInt8], String)])
  func invalidUTF8(_ bytes: [UInt8], _ expected: String) throws {
    let buffer = ByteBuffer(capacity: 0)
    buffer.append(UInt16(bytes.count))
    buffer.append(bytes.raw)
    var reader = FieldReader(buffer.bytes)
    let text = try reader.text()
    #expect(text == expected)
  }
}

extension FrameVector {
  fileprivate static var verdict: Verdict {
    guard let verdict = all.first(where: { $0.file == "verdict" })?.fields as? Verdict else {
      preconditionFailure("there is no vector of a verdict")
    }
    return verdict
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneJSON
import TribuneWire

@Suite("JSON documents", .timeLimit(.minutes(15)))
struct JSONDocumentTests {
  private static func root(_ text: String) throws -> JSONNode { try JSONDocument(text.utf8Bytes).root }

  @Test(
    "each value has its kind",
    arguments: [
      ("null", JSONNode.Kind.null), ("true", .bool), ("false", .bool), ("0", .number), ("-1.5e3", .number),
      ("\"\"", .string), ("[]", .array), ("{}", .object), (" [1]\n", .array),
    ])
  func kinds(text: String, kind: JSONNode.Kind) throws { #expect(try Self.root(text).kind == kind) }

  @Test("members and elements are found by name and by index, in their order")
  func parts() throws {
    let root = try Self.root(#"{"b": [1, "x", null], "": {"ü": true}, "a": 2}"#)
    #expect(root.count == 3)
    #expect(root.members.map(\.name) == ["b", "", "a"])
    #expect(root.members.map(\.value.kind) == [.array, .object, .number])
    #expect(root["b"]?.count == 3)
    #expect(root["b"]?[1]?.string == "x")
    #expect(root["b"]?[3] == nil)
    #expect(root["b"]?[-1] == nil)
    #expect(root["b"]?["a"] == nil)
    #expect(root[""]?["ü"]?.kind == .bool)
    #expect(root["c"] == nil)
    #expect(root[0] == nil)
    #expect(root["a"]?.members.map(\.name) == [])
  }

  @Test("text is compared byte by byte")
  func strings() throws {
    #expect(try Self.root(#""a\u0000b""#).string == "a\u{0}b")
    #expect(try Self.root(#""a\u0000b""#).isString("a\u{0}b"))
    #expect(try !Self.root(#""a\u0000b""#).isString("a"))
    #expect(try !Self.root(#""\u00fc""#).isString("u\u{308}"))
    #expect(try !Self.root("1").isString("1"))
    #expect(try Self.root("1").string == nil)
  }

  @Test(
    "a number is an integer if it fits into 64 bits, in any notation",
    arguments: [
      ("0", true, false), ("-0", true, false), ("1.0", true, false), ("1e3", true, false),
      ("1.5", false, true), ("9223372036854775807", true, false), ("-9223372036854775808", true, false),
      ("9223372036854775808", false, false), ("-9223372036854775809", false, false),
      ("123456789012345678901234567890", false, false), ("1e300", false, false), ("1e-3", false, true),
      ("true", false, false), ("\"1\"", false, false),
    ])
  func numbers(text: String, isInteger: Bool, hasFraction: Bool) throws {
    let root = try Self.root(text)
    #expect(root.isInteger == isInteger)
    #expect(root.hasFraction == hasFraction)
  }

  @Test("a number that is too long does not affect the others")
  func overflow() throws {
    let root = try Self.root("[1, 99999999999999999999, 2.5, -7]")
    #expect((0..<4).map { root[$0]?.isInteger } == [true, false, false, true])
  }

  @Test(
    "invalid JSON is refused with its line",
    arguments: [
      ("", 1), ("{", 1), ("{\"a\":1,\n}", 2), ("[1] 2", 1), ("\u{1}", 1), ("1e999", 1),
      ("{\"a\":1,\n\"a\":1}", 2), ("{\"a\\u0000\":1}", 1),
    ])
  func wrong(text: String, line: Int) {
    let error = #expect(throws: JSONText.SyntaxError.self) { _ = try JSONDocument(text.utf8Bytes) }
    #expect(error?.line == line)
    #expect(error?.reason.isEmpty == false)
  }

  @Test(
    "a zero byte is refused wherever it stands",
    arguments: ["\0", "1\0", "[1\0]", "{\"a\":1.5\0}", "[true\0]", "\"\0\"", "{}\0", "\01"])
  func zeroByte(text: String) {
    #expect(throws: JSONText.SyntaxError.self) { _ = try JSONDocument(text.utf8Bytes) }
    #expect(throws: JSONText.SyntaxError.self) { _ = try JSONText(Array(text.utf8)) }
  }

  @Test("invalid UTF-8 is refused")
  func notUTF8() {
    #expect(throws: JSONText.SyntaxError.self) { _ = try JSONDocument([0x22, 0xFF, 0x22].rawBytes) }
  }

  @Test(
    "the number of values has a limit, for all kinds; text in strings is not a value",
    arguments: ["{}", "[]", "1", "\"\"", "\"{[\"", "\"\\\",\\\\\"", "null"])
  func values(value: String) throws {
    let isContainer = "[{".contains(value.prefix(1))
    let most = (JSONDocument.separatorsMax - 1) / (isContainer ? 2 : 1)
    func array(_ count: Int) -> String { "[\(Array(repeating: value, count: count).joined(separator: ","))]" }
    #expect(try Self.root(array(most)).count == most)
    let error = #expect(throws: JSONText.SyntaxError.self) { _ = try JSONDocument(array(most + 2).utf8Bytes) }
    #expect(error?.reason == "the text has more than 16384 commas and opening brackets")
  }

  @Test("depth and length have limits")
  func bounds() throws {
    let deep = String(repeating: "[", count: 2_000) + String(repeating: "]", count: 2_000)
    #expect(try Self.root(deep).count == 1)
    #expect(throws: JSONText.SyntaxError.self) {
      _ = try JSONDocument(String(repeating: "[", count: 100_000).utf8Bytes)
    }
    let long = "\"\(String(repeating: "a", count: JSONDocument.lengthMax - 2))\""
    #expect(try Self.root(long).kind == .string)
    #expect(throws: JSONText.SyntaxError(line: 1, column: 0, reason: "the text is longer than 1 MiB")) {
      _ = try JSONDocument((long + " ").utf8Bytes)
    }
  }

  @Test("a node keeps its document alive")
  func lifetime() throws {
    func element() throws -> JSONNode? { try Self.root(#"[{"a": "kept"}]"#)[0] }
    #expect(try element()?["a"]?.string == "kept")
  }
}

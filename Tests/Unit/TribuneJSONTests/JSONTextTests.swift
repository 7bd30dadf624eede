// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneJSON

@Suite("JSON as text", .timeLimit(.minutes(15)))
struct JSONTextTests {
  @Test(
    "compact text only loses spaces, and escapes characters that could act on a terminal",
    arguments: [
      ("{}", "{}"), (" [ 1 , 2 ]\n", "[1,2]"), ("{\n \"a\" : [ ] , \"b\" : { } }", "{\"a\":[],\"b\":{}}"),
      ("\"a b\\\" c\\\\\"", "\"a b\\\" c\\\\\""),
      ("123456789012345678901234567890", "123456789012345678901234567890"), ("-0.10e-3", "-0.10e-3"),
      ("\"é😀\"", "\"é😀\""), ("\"\\u0000\"", "\"\\u0000\""), ("true", "true"),
      ("{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"), ("\"\u{7F}\"", "\"\\u007f\""),
      ("\"\u{9B}2J\"", "\"\\u009b2J\""), ("\"\u{202E}x\"", "\"\\u202ex\""), ("\"\u{2028}\"", "\"\\u2028\""),
    ])
  func compact(text: String, expected: String) throws {
    #expect(try JSONText(Array(text.utf8)).compact == expected)
  }

  @Test(
    "only characters that could act on a terminal, and those required by JSON, are escaped")
  func characters() throws {
    let required: [Unicode.Scalar: String] = [
      "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    ]
    for first in stride(from: UInt32(0), through: 0x10FFFF, by: 256) {
      var (text, expected) = ("", "")
      for scalar in (first..<first + 256).compactMap(Unicode.Scalar.init) {
        text.unicodeScalars.append(scalar)
        if let escape = required[scalar] {
          expected += escape
        } else if scalar.actsOnTerminals {
          for unit in String(scalar).utf16 {
            expected += "\\u" + String(UInt32(unit) + 0x10000, radix: 16).dropFirst()
          }
        } else {
          expected.unicodeScalars.append(scalar)
        }
      }
      #expect(Array(JSONValue.string(text).compact.utf8) == Array("\"\(expected)\"".utf8))
      // The first 256 include all scalars that JSON forbids in a text.
      if first > 0 {
        #expect(try Array(JSONText(Array("\"\(text)\"".utf8)).compact.utf8) == Array("\"\(expected)\"".utf8))
      }
    }
    #expect(try JSONText(Array("\"\u{7F}\u{9B}\u{AD}ü\"".utf8)).compact == "\"\\u007f\\u009b\\u00adü\"")
  }

  @Test(
    "invalid JSON is refused with line and column",
    arguments: [("{", 1, 1), ("{\"a\":1,\n}", 2, 1), ("nul", 1, 3), ("'a'", 1, 1), ("\"\u{1}\"", 1, 0)])
  func wrong(text: String, line: Int, column: Int) {
    let error = #expect(throws: JSONText.SyntaxError.self) { _ = try JSONText(Array(text.utf8)) }
    #expect(error?.line == line)
    if column > 0 { #expect(error?.column == column) }
    #expect(error?.reason.isEmpty == false)
  }

  @Test(
    "a short whole number or a plain string needs no parser, which would accept it too",
    arguments: ["0", "7", "10", "123456789012345678", "\"\"", "\"a b~\""])
  func plain(text: String) throws {
    let bytes = Array(text.utf8)
    #expect(bytes.isPlainScalar)
    _ = try JSONDocument(bytes.rawBytes)
    #expect(try JSONText(bytes).compact == text)
  }

  @Test(
    "anything else needs the parser",
    arguments: [
      "", "00", "01", "-1", "1.0", "1e5", " 1", "1 ", "1234567890123456789", "\"", "\"a", "a\"", "\"a\"b\"",
      "\"\\\"", "\"\u{1}\"", "\"\u{7F}\"", "\"é\"", "true", "[]",
    ])
  func parsed(text: String) { #expect(!Array(text.utf8).isPlainScalar) }

  @Test("nesting has a limit")
  func deep() {
    let deep = Array(String(repeating: "[", count: 100_000).utf8)
    #expect(throws: JSONText.SyntaxError.self) { try JSONText(deep) }
  }

  @Test("pretty is indented, and empty brackets stay together")
  func pretty() {
    let value = JSONValue.object([
      ("a", .array([.integer(1), .string("x")])), ("b", .object([])), ("c", .array([])), ("d", .null),
    ])
    #expect(
      value.pretty == "{\n  \"a\": [\n    1,\n    \"x\"\n  ],\n  \"b\": {},\n  \"c\": [],\n  \"d\": null\n}")
  }

  @Test(
    "bytes are written in base64 with its padding",
    arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")])
  func base64(text: String, expected: String) { #expect(TribuneJSON.base64(Array(text.utf8)) == expected) }

  @Test(
    "seconds are decimal, to the microsecond",
    arguments: [
      (Duration.zero, "0"), (.microseconds(350), "0.000350"), (.seconds(12), "12"),
      (.milliseconds(1500), "1.500000"), (.microseconds(Int64.max), "9223372036854.775807"),
      (.seconds(Int64.max), "9223372036854.775807"), (.milliseconds(-1), "-0.001000"),
    ])
  func seconds(duration: Duration, expected: String) {
    #expect(JSONValue.seconds(duration).compact == expected)
  }
}

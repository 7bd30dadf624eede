// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Patterns of objects", .timeLimit(.minutes(15)))
struct ObjectPatternTests {
  static let cases: [(pattern: String, matches: [String], others: [String])] = [
    ("view/1", ["view/1"], ["view", "view/2", "view/1/", "view/1/a", "View/1"]),
    (
      "view/*", ["view/1", "view/über", "view/a b", "view/*"],
      ["view", "view/", "view/1/2", "views/1", "/view/1"]
    ),
    ("view/**", ["view/1", "view/1/2", "view/1/", "view//2"], ["view", "view/", "vie"]),
    ("*/view/*", ["a/view/1"], ["view/1", "/view/1", "a/b/view/1", "a/view/1/2"]),
    ("*", ["a", "*"], ["a/b", "/"]), ("**", ["a", "a/b", "/a", "/"], [""]),
    ("*/**", ["a/b", "a/b/c"], ["a", "a/", "/b"]),
    // One scalar and two: objects are compared by bytes.
    ("\u{FC}", ["\u{FC}"], ["u\u{308}"]),
    ("a/**", ["a/\u{301}", "a/\u{301}/b"], ["a\u{301}/b"]),
    ("\u{301}/*/b", ["\u{301}/\u{301}/b"], ["\u{301}/b", "/\u{301}/b"]),
    ("*", ["a\u{301}"], ["a/\u{301}", "/\u{301}"]),
  ]

  @Test("match these objects, and no others", arguments: cases)
  func matching(text: String, matches: [String], others: [String]) throws {
    let pattern = try #require(ObjectPattern(text))
    for object in matches { #expect(pattern.matches(object), "\(object)") }
    for object in others { #expect(!pattern.matches(object), "\(object)") }
  }

  @Test(
    "are refused if a star is not a whole part, or if the text cannot be an object",
    arguments: ["", "a*", "view/1*", "**/a", "a/**/b", "***", "a\n", String(repeating: "a", count: 256)])
  func refused(_ text: String) { #expect(ObjectPattern(text) == nil) }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneCore

@Suite("Patterns of objects", .timeLimit(.minutes(15)))
struct ObjectPatternTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let pattern: String
    let matches: [String]
    let others: [String]

    var testDescription: String { pattern }
  }

  static let cases = [
    Case(
      pattern: "view/1", matches: ["view/1"], others: ["view", "view/2", "view/1/", "view/1/a", "View/1"]),
    Case(
      pattern: "view/*", matches: ["view/1", "view/über", "view/a b", "view/*"],
      others: ["view", "view/", "view/1/2", "views/1", "/view/1"]),
    Case(
      pattern: "view/**", matches: ["view/1", "view/1/2", "view/1/", "view//2"],
      others: ["view", "view/", "vie"]
    ),
    Case(
      pattern: "*/view/*", matches: ["a/view/1"], others: ["view/1", "/view/1", "a/b/view/1", "a/view/1/2"]),
    Case(pattern: "*", matches: ["a", "*"], others: ["a/b", "/"]),
    Case(pattern: "**", matches: ["a", "a/b", "/a", "/"], others: [""]),
    Case(pattern: "*/**", matches: ["a/b", "a/b/c"], others: ["a", "a/", "/b"]),
    // One scalar, and two: as objects they are not the same.
    Case(pattern: "\u{FC}", matches: ["\u{FC}"], others: ["u\u{308}"]),
  ]

  @Test("stand for these objects, and for no others", arguments: cases)
  func matching(_ example: Case) throws {
    let pattern = try #require(ObjectPattern(example.pattern))
    for object in example.matches { #expect(pattern.matches(object), "\(object)") }
    for object in example.others { #expect(!pattern.matches(object), "\(object)") }
  }

  @Test(
    "have stars for whole parts only, and text that can be an object",
    arguments: ["", "a*", "view/1*", "**/a", "a/**/b", "***", "a\n", String(repeating: "a", count: 256)])
  func refused(_ text: String) {
    #expect(ObjectPattern(text) == nil)
  }
}

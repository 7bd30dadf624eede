// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Patterns", .timeLimit(.minutes(15)))
struct PatternTests {
  @Test(
    "A pattern is a name whose tokens can be stars, and whose last one can be two stars",
    arguments: [
      "a", "a.b", "*", "**", "a.*", "*.a", "a.**", "*.**", "*.*", "*.a.*.**", "a.*.b", "tribune.**",
      String(repeating: "a", count: 255), String(repeating: "*.", count: 126) + "**",
      String(repeating: "a.", count: 127) + "*",
    ])
  func syntax(_ text: String) throws {
    let pattern = try Pattern(text)
    #expect(pattern.text == text)
    #expect("\(pattern)" == text)
    #expect(texts(ofTokensIn: pattern).joined(separator: ".") == text)
    #expect(texts(ofTokensIn: pattern).count == pattern.tokenCount)
    #expect(pattern.isLiteral == !text.contains("*"))
  }

  @Test(
    "Any other text is no pattern",
    arguments: [
      "", ".", "a.", ".a", "a..b", "**.a", "**.**", "**.*", "a.**.b", "***", "a*", "*a", "a.b*", "a.*b",
      "a.***", "*.", ".*", ".**", "**.", "a b", "ä", "*\u{301}", "a.\u{301}b", "\u{212A}", "a\n", "*\n", "?",
      "a.[b]", String(repeating: "a", count: 256), String(repeating: "a.", count: 127) + "**",
      String(repeating: "*.", count: 127) + "**",
    ])
  func noSyntax(_ text: String) {
    #expect(refusal { () throws(WireError) in _ = try Pattern(text) } == .invalidPattern)
  }

  @Test("The message about an invalid pattern is escaped")
  func message() {
    let expected = WireError(.invalidPattern, #""a\u{1b}[2Jb" is not a valid name pattern"#)
    #expect(throws: expected) { try Pattern("a\u{1B}[2Jb") }
  }

  static let cases: [(pattern: String, matches: [String], others: [String])] = [
    ("a", ["a"], ["b", "A", "ab", "a.b", ""]), ("ab", [], ["a"]), ("*", ["a", "abc"], ["a.b", ""]),
    ("a.b", ["a.b"], ["a", "a.bc", "a.b.c"]), ("a.bc", [], ["a.b"]), ("**", ["a", "a.b.c"], [""]),
    ("a.*", ["a.b"], ["a", "ab", "b.a", "a.b.c"]), ("*.b", ["a.b"], ["a", "a.c", "b", "a.b.c"]),
    ("*.*", ["a.b"], ["a", "a.b.c"]), ("a.*.c", ["a.b.c"], ["a.c", "a.b.d"]),
    ("*.**", ["a.b", "a.b.c"], ["a"]),
    ("a.**", ["a.b", "a.b.c.d"], ["a", "ab", "ab.c", "b.a"]), ("a.*.**", ["a.b.c"], ["a.b"]),
    ("window.*", ["window.didClose"], []), ("*.a.*", ["x.a.y"], []),
  ]

  @Test("A pattern matches these names, and no others", arguments: cases)
  func matching(text: String, matches: [String], others: [String]) throws {
    let pattern = try Pattern(text)
    for name in matches { #expect(pattern.matches(name.utf8Bytes) == true, "\(name)") }
    for name in others { #expect(pattern.matches(name.utf8Bytes) == false, "\(name)") }
  }
}

private func texts(ofTokensIn pattern: Pattern) -> [String] {
  var tokens: [String] = []
  pattern.forEachToken { token in
    switch token {
    case .text(let bytes): tokens.append(String(repairing: bytes))
    case .one: tokens.append("*")
    case .oneOrMore: tokens.append("**")
    }
  }
  return tokens
}

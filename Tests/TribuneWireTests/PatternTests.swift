// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Patterns", .timeLimit(.minutes(15)))
struct PatternTests {
  @Test(
    "A pattern is a name in which tokens can be stars, and the last one two stars",
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

  @Test(
    "A pattern matches",
    arguments: [
      ("a", "a"), ("a.b", "a.b"), ("*", "a"), ("*", "abc"), ("**", "a"), ("**", "a.b.c"), ("a.*", "a.b"),
      ("*.b", "a.b"), ("*.*", "a.b"), ("a.*.c", "a.b.c"), ("a.**", "a.b"), ("a.**", "a.b.c.d"),
      ("*.**", "a.b"),
      ("*.**", "a.b.c"), ("a.*.**", "a.b.c"), ("window.*", "window.didClose"), ("*.a.*", "x.a.y"),
    ])
  func matching(_ pattern: String, _ name: String) throws {
    #expect(try Pattern(pattern).matches(name.utf8Bytes) == true)
  }

  @Test(
    "A pattern does not match",
    arguments: [
      ("a", "b"), ("a", "A"), ("a", "ab"), ("ab", "a"), ("a", "a.b"), ("a.b", "a"), ("a.b", "a.bc"),
      ("a.b", "a.b.c"),
      ("a.bc", "a.b"), ("*", "a.b"), ("*.*", "a"), ("*.*", "a.b.c"), ("a.*", "a"), ("a.*", "ab"),
      ("a.*", "b.a"),
      ("a.*", "a.b.c"), ("*.b", "a"), ("*.b", "a.c"), ("*.b", "b"), ("*.b", "a.b.c"), ("a.**", "a"),
      ("a.**", "ab"),
      ("a.**", "ab.c"), ("a.**", "b.a"), ("*.**", "a"), ("a.*.**", "a.b"), ("a.*.c", "a.c"),
      ("a.*.c", "a.b.d"),
      ("**", ""), ("*", ""), ("a", ""),
    ])
  func notMatching(_ pattern: String, _ name: String) throws {
    #expect(try Pattern(pattern).matches(name.utf8Bytes) == false)
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

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TribuneCommands

@Suite("Words for completions", .timeLimit(.minutes(15)))
struct LiveWordsTests {
  @Test(
    "a name, a usual object or a connection is plain",
    arguments: ["a.b-c_D.9", "unit/nginx.service", ":12", "a@b,c+d"])
  func plain(word: String) { #expect(LiveWords.isPlain(word)) }

  @Test(
    "a word that is special to a shell is not offered",
    arguments: [
      "", "-x", "--help", "a b", "a\tb", "$(id)", "`id`", "a;b", "a|b", "a&b", "a>b", "'a", "\"a", "a\\",
      "~a", "a*", "?",
      "[a]", "{a,b}", "a#b", "!a", "%a", "^a", "a=b", "é", "a\u{1B}",
    ])
  func notPlain(word: String) { #expect(!LiveWords.isPlain(word)) }
}

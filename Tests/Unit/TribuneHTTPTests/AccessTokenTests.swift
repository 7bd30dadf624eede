// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneHTTP
import TribuneService

@Suite("Tokens", .timeLimit(.minutes(15)))
struct AccessTokenTests {
  @Test(
    "A token is one sufficiently long line",
    arguments: ["", "short", "fifteen-letters", "with a space in it!", "ü-0123456789abcdef"])
  func badToken(text: String) {
    #expect(throws: SettingError.self) { try AccessToken(Array("\(text)\n".utf8)) }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneHTTP

@Suite("Host names of a program's HTTP server", .timeLimit(.minutes(15)))
struct HostRuleTests {
  private let rule = HostRule(["bus.example.org", "[2001:db8::1]"])

  @Test(
    "are this host's and the configured ones, with any port",
    arguments: [
      "localhost", "LOCALHOST:1", "127.0.0.1:9790", "[::1]", "[::1]:65535", "bus.example.org:443",
      "[2001:DB8::1]",
    ])
  func accepted(host: String) { #expect(rule.accepts(host)) }

  @Test(
    "are no other names",
    arguments: [
      "", ":", ":80", "localhost:", "localhost:x", "localhost:123456", "localhost:1:2", "localhost.",
      "a.localhost",
      "127.0.0.2", "::1", "[::1", "[::1]x", "example.org", "evil.example:localhost", "localhost evil.example",
    ])
  func refused(host: String) { #expect(!rule.accepts(host)) }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneHTTP

@Suite("Requests", .timeLimit(.minutes(15)))
struct HTTPRequestTests {
  @Test(
    "The length of a body comes from exactly one header",
    arguments: [
      ([:], 0), (["content-length": ["0"]], 0), (["content-length": ["4096"]], 4_096),
      (["content-length": ["99999999999999999999"]], nil), (["content-length": ["1", "1"]], nil),
      (["content-length": ["-1"]], nil), (["content-length": ["+1"]], nil), (["content-length": [""]], nil),
      (["content-length": ["1, 1"]], nil), (["transfer-encoding": ["chunked"]], nil),
      (["transfer-encoding": ["chunked"], "content-length": ["1"]], nil),
    ] as [([String: [String]], Int?)])
  func length(fields: [String: [String]], length: Int?) {
    #expect(HTTPRequest("POST", "/", fields: fields).bodyLength == length)
  }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TribuneService

@Suite("Messages of a service")
struct ServiceLogTests {
  @Test("have no level for the journal if standard error was redirected")
  func redirected() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        unsafe setenv("JOURNAL_STREAM", "1:1", 1)
        ServiceLog.warning("one")
      })
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.hasSuffix(": one\n") && !text.hasPrefix("<"))
  }
}

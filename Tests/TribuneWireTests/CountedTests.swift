// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@Suite("Counts in sentences")
struct CountedTests {
  @Test("agree with what they count")
  func agree() {
    #expect(
      [0, 1, 2].map { $0.counted("connection") } == ["0 connections", "1 connection", "2 connections"])
    #expect(
      [UInt64(1), .max].map { $0.counted("entry was", "entries were") }
        == ["1 entry was", "18446744073709551615 entries were"])
  }
}

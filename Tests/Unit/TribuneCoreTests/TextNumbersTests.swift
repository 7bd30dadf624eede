// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@testable import TribuneCore

@Suite("Numbers of texts", .timeLimit(.minutes(15)))
struct TextNumbersTests {
  @Test("Each text in use keeps one number, however many come and go", arguments: Seeds.all)
  func oracle(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var numbers = TextNumbers()
    var given: [TextNumber: String] = [:]
    var expected: [String: (number: TextNumber, useCount: Int)] = [:]
    for step in 0..<20_000 {
      let isGrowing = random.oneIn(4) == (step >= 10_000)
      let text = "text\(Int.random(in: 0..<3000, using: &random))"
      if isGrowing {
        let number = numbers.retain(text.utf8Bytes)
        #expect(given[number, default: text] == text)
        given[number] = text
        if let entry = expected[text] { #expect(number == entry.number) }
        expected[text, default: (number, 0)].useCount += 1
      } else if let entry = expected[text] {
        #expect(numbers.release(text.utf8Bytes) == entry.number)
        expected[text] = entry.useCount == 1 ? nil : (entry.number, entry.useCount - 1)
      }
      #expect(numbers.count == expected.count)
      #expect(numbers.capacity <= max(16, 16 * numbers.count))
      if let entry = expected[text] { #expect(numbers.number(of: text.utf8Bytes) == entry.number) }
    }
    for (text, entry) in expected { for _ in 0..<entry.useCount { _ = numbers.release(text.utf8Bytes) } }
    #expect(numbers.count == 0)
  }
}

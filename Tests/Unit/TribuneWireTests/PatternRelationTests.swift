// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneTestSupport
import TribuneWire

@Suite("Patterns compared", .timeLimit(.minutes(15)))
struct PatternRelationTests {
  private static func texts(_ tokens: [String], last: [String] = []) -> [String] {
    var texts = tokens + last
    for first in tokens {
      for second in tokens + last { texts.append("\(first).\(second)") }
      for second in tokens { for third in tokens + last { texts.append("\(first).\(second).\(third)") } }
    }
    return texts
  }

  // Patterns lack the third token, which represents all other names.
  private static let names = texts(["a", "b", "c"])

  @Test("A pattern contains or overlaps another exactly if their names show it", arguments: ["a", "aa"])
  func relations(_ a: String) throws {
    // A fourth token tells `a.*.*.**` from `a.*.*`.
    let names = Self.names.map { $0.replacing("a", with: a) }
    let longer = names + names.map { "\($0).c" }
    let patterns = try Self.texts([a, "b", "*"], last: ["**"]).map { try Pattern($0) }
    let matched = patterns.map { pattern in Set(longer.filter { pattern.matches($0.utf8Bytes) }) }
    for (one, oneNames) in zip(patterns, matched) {
      for (other, otherNames) in zip(patterns, matched) {
        #expect(one.contains(other) == oneNames.isSuperset(of: otherNames), "\(one) \(other)")
        #expect(one.overlaps(other) == !oneNames.isDisjoint(with: otherNames), "\(one) \(other)")
      }
    }
  }
}
